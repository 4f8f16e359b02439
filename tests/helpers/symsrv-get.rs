//! Gets files by the crate symsrv: `symsrv-get SYMBOLPATH STORE NAME ID...` prints the path of each local file, or
//! the error. STORE is the default downstream store; "" leaves it out. scripts/symsrv-get builds this program.
// SPDX-License-Identifier: LGPL-2.1-or-later
use symsrv::{parse_nt_symbol_path, SymsrvDownloader};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut failed = false;
    let mut client = SymsrvDownloader::new(parse_nt_symbol_path(&args[1]));
    if !args[2].is_empty() {
        client.set_default_downstream_store(Some(args[2].as_str()));
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for pair in args[3..].chunks(2) {
        match runtime.block_on(client.get_file(&pair[0], &pair[1])) {
            Ok(path) => println!("{}", path.display()),
            Err(error) => {
                failed = true;
                println!("{} {}: {error}", pair[0], pair[1]);
            }
        }
    }
    std::process::exit(failed as i32);
}
