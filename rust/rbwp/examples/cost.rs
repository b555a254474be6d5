// SPDX-License-Identifier: Apache-2.0
//! What a call costs, as `begin` and the guard's drop; with a sub-item in it; with an argument: ns, the least of 50 rounds. Flags as
//! -bgworkprofile 2, or none.
static CALL: rbwp::Item = rbwp::Item::new("call");
static PART: rbwp::Item = rbwp::Item::new("part");
static NUMBER: rbwp::Key = rbwp::Key::new("number");

fn least(mut call: impl FnMut(u64)) -> f64 {
    const CALLS: u64 = 10_000;
    (0..50).fold(f64::MAX, |least, _| {
        let from = std::time::Instant::now();
        (0..CALLS).for_each(&mut call);
        least.min(from.elapsed().as_nanos() as f64 / CALLS as f64)
    })
}

fn main() {
    let _session = rbwp::Session::start(std::env::args()).unwrap();
    let call = least(|_| drop(CALL.begin()));
    let nested = least(|_| {
        let _call = CALL.begin();
        drop(PART.begin());
    });
    let argument = least(|number| CALL.begin().arg(&NUMBER, number));
    println!("call {:.1} ns, its sub-item {:.1}, its argument {:.1}", call, nested - call, argument - call);
}
