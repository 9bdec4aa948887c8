//! Makes the protocols' messages and services of every `.proto` below `proto/`.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = "proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={ROOT}");
    let mut files = Vec::new();
    collect(Path::new(ROOT), &mut files)?;
    // The order of a directory is the file system's; what is generated should not depend on it.
    files.sort();
    let descriptors = protox::compile(files, [ROOT])?;
    tonic_prost_build::configure()
        // Connecting is the caller's: only tests have clients, and they bring their own transport.
        .build_transport(false)
        .bytes(".")
        .include_file("protocols.rs")
        .compile_fds(descriptors)?;
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "proto") {
            files.push(path);
        }
    }
    Ok(())
}
