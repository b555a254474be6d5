// SPDX-License-Identifier: Apache-2.0
//! A pool of two threads whose spans are recorded: `spans [kill|cost]`; flags as -bgworkprofile 2. Each job is a span with two others
//! in it; every tenth is left before one that was entered in it. It prints how many jobs and others have begun. `kill`: it kills itself
//! behind that, in the middle of a job. `cost`: what a span costs, in ns, the least of 50 rounds.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tracing::field::Empty;
use tracing::{info_span, Span};
use tracing_subscriber::prelude::*;

const JOBS: u64 = 1000;

extern "C" {
    fn kill(process: i32, signal: i32) -> i32;
}

fn job(number: u64, parsed: &AtomicU64) {
    let span = info_span!("job", tenant = number % 7, file = "orders.csv", size = Empty);
    span.record("size", -((number % 5) as i64));
    let entered = span.enter();
    let last = info_span!("parse", part = ?(1, 2)).entered();
    parsed.fetch_add(1, Ordering::Relaxed);
    if number % 10 == 0 {
        drop(entered);
        drop(last);
        return;
    }
    drop(last);
    info_span!("parse").in_scope(|| parsed.fetch_add(1, Ordering::Relaxed));
    if number == JOBS - 1 {
        println!("{} {}", JOBS - 1, parsed.load(Ordering::Relaxed));
        if std::env::args().any(|word| word == "kill") {
            unsafe { kill(std::process::id() as i32, 9) };
        }
    }
}

fn least(mut call: impl FnMut(u64)) -> f64 {
    const CALLS: u64 = 10_000;
    (0..50).fold(f64::MAX, |least, _| {
        let from = std::time::Instant::now();
        (0..CALLS).for_each(&mut call);
        least.min(from.elapsed().as_nanos() as f64 / CALLS as f64)
    })
}

fn cost() {
    let made = info_span!("made");
    let (enter, whole) = (least(|_| drop(made.enter())), least(|_| drop(info_span!("span").entered())));
    let field = least(|number| drop(info_span!("field", number).entered()));
    println!("enter and exit {:.1} ns, with making the span {:.1}, with a field {:.1}", enter, whole, field);
}

fn main() {
    let _session = rbwp::Session::start(std::env::args()).unwrap_or_else(|error| {
        eprintln!("not recorded: {}", error);
        std::process::exit(3)
    });
    if std::env::args().any(|word| word == "plain") {
        tracing_subscriber::registry().init();
    } else {
        tracing_subscriber::registry().with(rbwp_tracing::Layer::default()).init();
    }
    if std::env::args().any(|word| word == "cost") {
        return cost();
    }
    let next = Arc::new(Mutex::new(0));
    let parsed = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (0..2)
        .map(|number| {
            let (next, parsed) = (next.clone(), parsed.clone());
            let run = move || loop {
                let mut held = next.lock().unwrap();
                if *held == JOBS - 1 {
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
    assert!(Span::current().is_none());
}
