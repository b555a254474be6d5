// SPDX-License-Identifier: Apache-2.0
//! Where librbwp is, for the examples: the crate rbwp says it (its build.rs).
fn main() {
    if let Ok(folder) = std::env::var("DEP_RBWP_RPATH") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", folder);
    }
}
