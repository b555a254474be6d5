// SPDX-License-Identifier: Apache-2.0
//! Where librbwp is: RBWP_LIB_DIR, else what pkg-config says, else where the linker looks. RBWP_STATIC=1 links the static one.
use std::{env, process::Command};

fn main() {
    println!("cargo:rerun-if-env-changed=RBWP_LIB_DIR");
    println!("cargo:rerun-if-env-changed=RBWP_STATIC");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    let is_static = env::var("RBWP_STATIC").map_or(false, |value| value == "1");
    let folder = env::var("RBWP_LIB_DIR").ok().or_else(|| {
        let said = Command::new("pkg-config").args(["--variable=libdir", "rbwp"]).output().ok()?;
        let folder = String::from_utf8(said.stdout).ok()?.trim().to_string();
        (said.status.success() && !folder.is_empty()).then_some(folder)
    });
    if let Some(folder) = folder {
        println!("cargo:rustc-link-search=native={}", folder);
        if !is_static {
            println!("cargo:rustc-link-arg=-Wl,-rpath,{}", folder); // of this package's own tests and examples
            println!("cargo:rpath={}", folder); // and of those that depend on it
        }
    }
    if is_static {
        println!("cargo:rustc-link-lib=static=rbwp");
        println!("cargo:rustc-link-lib=z");
    } else {
        println!("cargo:rustc-link-lib=rbwp");
    }
}
