//! Release builds embed the dashboard: they are made anew when it was built anew. Debug builds read it from disk.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // The path of the embedded folder is resolved when this crate compiles, which may be before the dashboard's first
    // build: then the folder is empty.
    if let Err(error) = std::fs::create_dir_all("../../ui/dist/site") {
        println!("cargo:warning=the dashboard's folder cannot be made: {error}");
    }
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo:rerun-if-changed=../../ui/dist");
    }
}
