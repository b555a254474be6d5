// SPDX-License-Identifier: Apache-2.0
//! The spans of `tracing` as calls and sub-items of RBWP, their fields as arguments.
//!
//! ```no_run
//! use tracing_subscriber::prelude::*;
//! let _session = rbwp::Session::start(std::env::args()).unwrap(); // flags: -bgworkprofile 2, or RBWP_FLAGS
//! tracing_subscriber::registry().with(rbwp_tracing::Layer::default()).init();
//! ```
//!
//! What is recorded is a thread in a span, from each enter to its exit: a call by the span's name, inside of another span a sub-item.
//! So a span of an async function has a call for each time that it is polled. The fields that it has when it is entered become
//! arguments of the call, at level 2; events are not recorded. A span that is left before what was entered after it ends with that.
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, RwLock};
use tracing_core::callsite::Identifier;
use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Metadata, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// A place in the program that makes spans.
struct Place {
    name: &'static str,
    item: Arc<rbwp::Item>, // of all places with this name
    keys: Vec<(&'static str, rbwp::Key)>, // of its fields
}

enum Value {
    U64(u64),
    I64(i64),
    F64(f64),
    Text(String),
}

/// Of a span.
struct Recorded {
    place: Arc<Place>,
    values: Vec<Option<Value>>, // by the field's number, as far as there are any
}

impl Recorded {
    fn set(&mut self, field: &Field, value: Value) {
        if let Some(number) = self.place.keys.iter().position(|key| key.0 == field.name()) {
            self.values.resize_with(self.place.keys.len(), || None);
            self.values[number] = Some(value);
        }
    }

    fn enter(&self, id: &Id) {
        let guard = self.place.item.begin();
        for ((_, key), value) in self.place.keys.iter().zip(&self.values) {
            match value {
                Some(Value::U64(value)) => guard.arg(key, *value),
                Some(Value::I64(value)) => guard.arg(key, *value),
                Some(Value::F64(value)) => guard.arg(key, *value),
                Some(Value::Text(value)) => guard.arg(key, value.as_str()),
                None => (),
            }
        }
        // A thread that is leaving has no list any more: what it enters then ends at once.
        let _ = OPEN.try_with(|open| open.borrow_mut().push(Open { id: id.clone(), left: false, _guard: guard }));
    }
}

impl Visit for Recorded {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, Value::U64(value));
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, Value::I64(value));
    }
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, Value::F64(value));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, Value::Text(value.into()));
    }
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.set(field, Value::Text(format!("{:?}", value)));
    }
}

struct Open {
    id: Id,
    left: bool, // while what was entered after it is open
    _guard: rbwp::Guard,
}

thread_local!(static OPEN: RefCell<Vec<Open>> = const { RefCell::new(Vec::new()) });

/// To be put on a `tracing_subscriber::Registry`.
#[derive(Default)]
pub struct Layer(RwLock<HashMap<Identifier, Arc<Place>>>);

impl Layer {
    fn place(&self, of: &'static Metadata<'static>) -> Arc<Place> {
        if let Some(place) = self.0.read().unwrap_or_else(|held| held.into_inner()).get(&of.callsite()) {
            return place.clone();
        }
        let mut all = self.0.write().unwrap_or_else(|held| held.into_inner());
        if let Some(place) = all.get(&of.callsite()) {
            return place.clone();
        }
        let name = of.name();
        let other = all.values().find(|place| place.name == name).map(|place| place.item.clone());
        let keys = of.fields().iter().map(|field| (field.name(), rbwp::Key::new(field.name()))).collect();
        let place = Arc::new(Place { name, item: other.unwrap_or_else(|| Arc::new(rbwp::Item::new(name))), keys });
        all.insert(of.callsite(), place.clone());
        place
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> tracing_subscriber::Layer<S> for Layer {
    fn on_new_span(&self, span: &Attributes<'_>, id: &Id, all: Context<'_, S>) {
        let mut recorded = Recorded { place: self.place(span.metadata()), values: Vec::new() };
        if rbwp::level() == 2 {
            span.record(&mut recorded);
        }
        if let Some(made) = all.span(id) {
            made.extensions_mut().insert(recorded);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, all: Context<'_, S>) {
        if rbwp::level() == 2 {
            if let Some(span) = all.span(id) {
                if let Some(recorded) = span.extensions_mut().get_mut::<Recorded>() {
                    values.record(recorded);
                }
            }
        }
    }

    fn on_enter(&self, id: &Id, all: Context<'_, S>) {
        if let Some(span) = all.span(id) {
            if let Some(recorded) = span.extensions().get::<Recorded>() {
                recorded.enter(id);
            }
        }
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        let _ = OPEN.try_with(|open| {
            let mut open = open.borrow_mut();
            if let Some(last) = open.iter_mut().rev().find(|entered| !entered.left && entered.id == *id) {
                last.left = true;
            }
            while open.last().map_or(false, |last| last.left) {
                open.pop();
            }
        });
    }
}
