// SPDX-License-Identifier: Apache-2.0
//! A pool of two threads: each takes jobs, which parse twice. `pool [kill]`; flags as -bgworkprofile 2. It prints how many calls and
//! sub-items have begun; `kill`: it kills itself behind that, in the middle of a job.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

static JOB: rbwp::Item = rbwp::Item::new("job");
static PARSE: rbwp::Item = rbwp::Item::new("parse");
static TENANT: rbwp::Key = rbwp::Key::new("tenant");
static FILE: rbwp::Key = rbwp::Key::new("file");
const JOBS: u64 = 1000;

fn job(number: u64, parsed: &AtomicU64) {
    let call = JOB.begin();
    call.arg(&TENANT, number % 7);
    call.arg(&FILE, "orders.csv");
    for _ in 0..2 {
        let _part = PARSE.begin();
        parsed.fetch_add(1, Ordering::Relaxed);
    }
    if number == JOBS {
        println!("{} {}", JOBS, parsed.load(Ordering::Relaxed));
        if std::env::args().any(|word| word == "kill") {
            unsafe { kill(std::process::id() as i32, 9) };
        }
    }
}

extern "C" {
    fn kill(process: i32, signal: i32) -> i32;
}

fn main() {
    let _session = rbwp::Session::start(std::env::args()).unwrap_or_else(|error| {
        eprintln!("not recorded: {}", error);
        std::process::exit(3)
    });
    let next = Arc::new(Mutex::new(0));
    let parsed = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (0..2)
        .map(|number| {
            let (next, parsed) = (next.clone(), parsed.clone());
            let run = move || loop {
                let mut held = next.lock().unwrap();
                if *held == JOBS {
                    return;
                }
                *held += 1;
                job(*held, &parsed); // one at a time: what is printed is all that has begun
            };
            std::thread::Builder::new().name(format!("worker {}", number)).spawn(run).unwrap()
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}
