#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sessions of a simulated year, or of so many days; see README.md. usage: months.sh BUILD [DAYS]
set -eu
[ $# -ge 1 ] || { echo "usage: months.sh BUILD [DAYS]" >&2; exit 2; }
cmake --build "$1" --target test_months
exec "$1/tests/unit/test_months" "${2:-365}"
