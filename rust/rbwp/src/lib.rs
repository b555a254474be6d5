// SPDX-License-Identifier: Apache-2.0
//! Records the background work of a program's threads with librbwp (rbwp_foreign.h).
//!
//! ```no_run
//! static CLEAN: rbwp::Item = rbwp::Item::new("page cleaner");
//! static PAGES: rbwp::Key = rbwp::Key::new("pages");
//!
//! let _session = rbwp::Session::start(std::env::args()).unwrap(); // flags: -bgworkprofile 2, or RBWP_FLAGS
//! {
//!     let call = CLEAN.begin(); // a call until it is dropped; inside of another one a sub-item
//!     call.arg(&PAGES, 64u64);
//! }
//! ```
//!
//! A thread is attached by its first begin, under its own name. Without a session a begin is a call of a function and a test.
use std::ffi::{c_void, CStr, CString};
use std::fmt;
use std::marker::PhantomData;
use std::os::raw::{c_char, c_int, c_uint};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::Mutex;

#[repr(C)]
struct CError {
    status: c_int,
    offset: u64,
    section: *const c_char,
    rule: c_uint,
    os_errno: c_int,
    text: [c_char; 256],
}

extern "C" {
    #[link_name = "rbwp_level_0_2"] // of this minor version, as inlined calls in C
    static LEVEL: AtomicI32;
    fn rbwp_foreign_begin(slot: c_uint, id: c_uint) -> c_int;
    fn rbwp_foreign_end();
    fn rbwp_foreign_arg(key: u64, kind: c_uint, bits: u64);
    fn rbwp_foreign_arg_text(key: u64, text: *const c_char);
    fn rbwp_foreign_start(argc: c_int, argv: *mut *mut c_char, session_out: *mut *mut c_void, error: *mut CError) -> c_int;
    fn rbwp_session_stop_sized(session: *mut c_void, summary_out: *mut c_void, summary_bytes: usize) -> c_int;
    fn rbwp_thread_attach(name: *const c_char) -> c_int;
    fn rbwp_work_item_register(name: *const c_char, slot_out: *mut c_uint) -> c_int;
    fn rbwp_sub_item_kind_register(name: *const c_char, flags: c_uint, kind_out: *mut c_int) -> c_int;
    fn rbwp_sub_item_register(kind: c_int, name: *const c_char, id_out: *mut c_uint) -> c_int;
    fn rbwp_arg_key(name: *const c_char) -> u64;
}

const NOT_ATTACHED: c_int = -1;
const NO_SLOT: u64 = 256; // above all: such a call is refused and counted
const NO_SUB_ITEM: u64 = 65536;
const KNOWN: u64 = 1 << 63; // of a number that is kept

fn text(of: &str) -> CString {
    CString::new(of.replace('\0', " ")).unwrap_or_default()
}

/// Why a session did not start, in one line.
#[derive(Debug)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str(&self.0)
    }
}
impl std::error::Error for Error {}

/// A recording, until it is dropped.
pub struct Session(*mut c_void);

// Any thread may stop it.
unsafe impl Send for Session {}

impl Session {
    /// Starts by the flags of rbwp_session(3) among the words, of which the first is the program, and by RBWP_FLAGS. At level 0, which is
    /// what no flag means, nothing is recorded, and that is no error. Words that are not such flags are the program's.
    pub fn start(words: impl IntoIterator<Item = String>) -> Result<Session, Error> {
        let mut argv: Vec<*mut c_char> = words.into_iter().map(|word| text(&word).into_raw()).collect();
        let argc = argv.len() as c_int;
        argv.push(ptr::null_mut());
        let argv = Box::leak(argv.into_boxed_slice()); // the session points into it
        let mut error = CError { status: 0, offset: 0, section: ptr::null(), rule: 0, os_errno: 0, text: [0; 256] };
        let mut session = ptr::null_mut();
        let status = unsafe { rbwp_foreign_start(argc, argv.as_mut_ptr(), &mut session, &mut error) };
        if status == 0 {
            return Ok(Session(session));
        }
        Err(Error(unsafe { CStr::from_ptr(error.text.as_ptr()) }.to_string_lossy().into_owned()))
    }

    /// Whether it records.
    pub fn is_on(&self) -> bool {
        !self.0.is_null()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        unsafe { rbwp_session_stop_sized(self.0, ptr::null_mut(), 0) };
    }
}

/// What is recorded: 0 nothing, 1 calls, 2 also sub-items and arguments.
#[inline]
pub fn level() -> i32 {
    unsafe { LEVEL.load(Ordering::Relaxed) }
}

/// The calling thread's name in the recording. Without it that is the name of the thread.
pub fn attach(name: &str) {
    unsafe { rbwp_thread_attach(text(name).as_ptr()) };
}

#[cold]
fn attach_by_itself() {
    attach(std::thread::current().name().unwrap_or("thread"));
}

/// A number that is made for a name when it is first used.
struct Number(&'static str, AtomicU64);

static MAKING: Mutex<()> = Mutex::new(());

impl Number {
    fn get(&self, make: fn(&CStr) -> u64) -> u64 {
        let known = self.1.load(Ordering::Acquire);
        if known & KNOWN != 0 {
            return known & !KNOWN;
        }
        let _held = MAKING.lock();
        if self.1.load(Ordering::Acquire) & KNOWN == 0 {
            self.1.store(make(&text(self.0)) | KNOWN, Ordering::Release);
        }
        self.1.load(Ordering::Acquire) & !KNOWN
    }
}

/// What is recorded under one name: a static of the program's.
pub struct Item(Number);

impl Item {
    pub const fn new(name: &'static str) -> Item {
        Item(Number(name, AtomicU64::new(0)))
    }

    /// A call begins, or inside of another one of this thread a sub-item, which level 2 records. It ends when the guard is dropped.
    #[inline]
    pub fn begin(&self) -> Guard {
        let number = self.0.get(Item::register);
        let (slot, id) = (number as u16 as c_uint, (number >> 16) as c_uint);
        unsafe {
            if rbwp_foreign_begin(slot, id) == NOT_ATTACHED {
                attach_by_itself();
                rbwp_foreign_begin(slot, id);
            }
        }
        Guard(PhantomData)
    }

    fn register(name: &CStr) -> u64 {
        let (mut slot, mut id, mut kind) = (0, 0, 0);
        unsafe {
            let slot = if rbwp_work_item_register(name.as_ptr(), &mut slot) == 0 { u64::from(slot) } else { NO_SLOT };
            let has_id = rbwp_sub_item_kind_register(b"rust\0".as_ptr().cast(), 0, &mut kind) == 0
                && rbwp_sub_item_register(kind, name.as_ptr(), &mut id) == 0;
            slot | if has_id { u64::from(id) } else { NO_SUB_ITEM } << 16
        }
    }
}

/// What has begun on this thread; its drop is the end.
#[must_use = "what begins ends at once, unless its guard is kept"]
pub struct Guard(PhantomData<*const ()>); // no other thread may end it

impl Guard {
    /// An argument of the open call, at level 2.
    #[inline]
    pub fn arg<'a>(&self, key: &Key, value: impl Into<Value<'a>>) {
        let key = key.0.get(|name| unsafe { rbwp_arg_key(name.as_ptr()) });
        unsafe {
            match value.into() {
                Value::U64(value) => rbwp_foreign_arg(key, 1, value),
                Value::I64(value) => rbwp_foreign_arg(key, 2, value as u64),
                Value::F64(value) => rbwp_foreign_arg(key, 3, value.to_bits()),
                Value::Text(value) => rbwp_foreign_arg_text(key, text(value).as_ptr()),
            }
        }
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        unsafe { rbwp_foreign_end() };
    }
}

/// The name of an argument: a static of the program's.
pub struct Key(Number);

impl Key {
    pub const fn new(name: &'static str) -> Key {
        Key(Number(name, AtomicU64::new(0)))
    }
}

/// What an argument may be.
pub enum Value<'a> {
    U64(u64),
    I64(i64),
    F64(f64),
    Text(&'a str),
}

macro_rules! values {
    ($($from:ty => $to:ident),*) => {$(
        impl<'a> From<$from> for Value<'a> {
            fn from(value: $from) -> Value<'a> { Value::$to(value.into()) }
        }
    )*};
}
values!(u32 => U64, u64 => U64, i32 => I64, i64 => I64, f64 => F64, &'a str => Text);
