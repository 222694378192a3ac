//! Code of the contracts in `protos`, by the protoc that a crate brings: nothing has to be installed.
use std::{env, fs, path::Path};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    env::set_var("PROTOC", protoc_bin_vendored::protoc_bin_path()?);
    let protos = Path::new("protos");
    let mut files = Vec::new();
    for entry in fs::read_dir(protos.join("footnote/edge/v1"))? {
        files.push(entry?.path());
    }
    tonic_build::configure()
        .build_server(false)
        // Comments of the contracts hold indented examples, which rustdoc would take for code and run.
        .disable_comments(".")
        .include_file("contracts.rs")
        .compile_protos(&files, &[protos])?;
    Ok(())
}
