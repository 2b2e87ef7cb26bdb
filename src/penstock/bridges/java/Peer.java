// What stands in the JVM for penstock: parties of java.util.concurrent.Flow that put what they are told into queues,
// from which Python takes it, and their counterparts of org.reactivestreams, which is looked up where it is needed. Java never calls Python, so no callback server is needed, no call nests
// inside another, and no lock is held while a call of one side waits for the other.
//
// Written in the Java that Janino compiles, since Spark brings Janino and a JRE brings no compiler. After a change run
// `python -m tests.spark.java_peers`, which writes flow.jar; a test compares the two.

package penstock.flow;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.ref.WeakReference;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Flow;

/** Make what Python asks for. */
public final class Peer {
    public Inbox inbox(int window) {
        return new Inbox(window);
    }

    public Outlet outlet() {
        return new Outlet();
    }

    /** Make what Java gives to a publisher for Python to hear it by. */
    public Door door(Inbox inbox) {
        return new Door(inbox);
    }

    public Flow.Processor processor(Door door, Outlet outlet) {
        return new Both(door, outlet);
    }

    /** Return "flow" or "reactive" and the party's name, such as "flow Publisher", or nothing for what is none. */
    public String kind(Object party) {
        String[] names = {"Processor", "Publisher", "Subscriber"};
        for (int place = 0; place < names.length; place++) {
            if (Turned.found(party.getClass(), Turned.FLOW + names[place]) != null) {
                return "flow " + names[place];
            }
            if (Turned.found(party.getClass(), Turned.REACTIVE + names[place]) != null) {
                return "reactive " + names[place];
            }
        }
        return "";
    }

    /** Return a party of org.reactivestreams as one of Flow. */
    public Object flow(Object party, String name) throws Exception {
        return Turned.turned(party, Turned.found(party.getClass(), Turned.REACTIVE + name));
    }

    /** Tell whether this JVM has org.reactivestreams where it can be found. */
    public boolean knowsReactive() {
        try {
            return Turned.loader(Peer.class.getClassLoader()) != null;
        } catch (ClassNotFoundException missing) {
            return false;
        }
    }

    /** Return a party of Flow as one of org.reactivestreams, as this JVM has it. */
    public Object reactive(Object party, String name) throws Exception {
        Class own = Class.forName(Turned.FLOW + name);
        return Turned.turned(party, own, Turned.loader(party.getClass().getClassLoader()));
    }

    static void complain(String what, Throwable cause) {
        System.getLogger("penstock").log(System.Logger.Level.WARNING, what, cause);
    }

    static long add(long some, long more) {
        long total = some + more;
        return total < 0 ? Long.MAX_VALUE : total;
    }

    /** Be a failure of Python's; the exception itself is kept there, under the number of its run. */
    public static final class PythonException extends RuntimeException {
        private final long key;
        private final String type;
        private final String trace;

        public PythonException(long key, String type, String message, String trace) {
            super(message);
            this.key = key;
            this.type = type;
            this.trace = trace;
        }

        /** Return the name of the exception's class in Python. */
        public String getPythonType() {
            return this.type;
        }

        /** Return the traceback of Python. */
        public String getPythonTraceback() {
            return this.trace;
        }

        public String toString() {
            return this.type + ": " + this.getMessage();
        }

        long key() {
            return this.key;
        }
    }

    /** Be a party of the one interface over a party of the other, which has the same methods. */
    static final class Turned implements InvocationHandler {
        static final String FLOW = "java.util.concurrent.Flow$";
        static final String REACTIVE = "org.reactivestreams.";
        private final Object party;
        private final Class from;
        private final ClassLoader loader;

        private Turned(Object party, Class from, ClassLoader loader) {
            this.party = party;
            this.from = from;
            this.loader = loader;
        }

        /** Return the interface of that name which a class implements, or null. */
        static Class found(Class kind, String name) {
            for (Class one = kind; one != null; one = one.getSuperclass()) {
                if (one.getName().equals(name)) {
                    return one;
                }
                Class[] known = one.getInterfaces();
                for (int place = 0; place < known.length; place++) {
                    Class met = Turned.found(known[place], name);
                    if (met != null) {
                        return met;
                    }
                }
            }
            return null;
        }

        /** Return a class loader that knows org.reactivestreams. */
        static ClassLoader loader(ClassLoader first) throws ClassNotFoundException {
            ClassLoader[] some = {
                first, Thread.currentThread().getContextClassLoader(), ClassLoader.getSystemClassLoader()
            };
            for (int place = 0; place < some.length; place++) {
                try {
                    Class.forName(REACTIVE + "Publisher", false, some[place]);
                    return some[place];
                } catch (ClassNotFoundException missing) {
                    // the next one may know it
                }
            }
            throw new ClassNotFoundException(REACTIVE + "Publisher");
        }

        static Object turned(Object party, Class from) throws ClassNotFoundException {
            return Turned.turned(party, from, from.getClassLoader());
        }

        /** Turn a party of the interface `from`; one that was turned before is what it was. */
        static Object turned(Object party, Class from, ClassLoader loader) throws ClassNotFoundException {
            Class to = Turned.counterpart(from, loader);
            if (Proxy.isProxyClass(party.getClass())) {
                InvocationHandler known = Proxy.getInvocationHandler(party);
                if (known instanceof Turned && to.isInstance(((Turned) known).party)) {
                    return ((Turned) known).party;
                }
            }
            ClassLoader knows = to.getClassLoader() == null ? Peer.class.getClassLoader() : to.getClassLoader();
            Class[] known = party instanceof AutoCloseable
                ? new Class[] {to, AutoCloseable.class}
                : new Class[] {to};
            return Proxy.newProxyInstance(knows, known, new Turned(party, from, loader));
        }

        /** Return the interface of the other side, or the class itself if it is none of either. */
        private static Class counterpart(Class one, ClassLoader loader) throws ClassNotFoundException {
            String name = one.getName();
            if (name.startsWith(FLOW)) {
                return Class.forName(REACTIVE + name.substring(FLOW.length()), true, loader);
            }
            if (name.startsWith(REACTIVE)) {
                return Class.forName(FLOW + name.substring(REACTIVE.length()));
            }
            return one;
        }

        public Object invoke(Object proxy, Method method, Object[] given) throws Throwable {
            String name = method.getName();
            if (method.getDeclaringClass() == Object.class) {
                if (name.equals("equals")) {
                    return Boolean.valueOf(proxy == given[0]);
                }
                return name.equals("hashCode")
                    ? (Object) Integer.valueOf(System.identityHashCode(proxy))
                    : (Object) this.party.toString();
            }
            if (method.getDeclaringClass() == AutoCloseable.class) {
                ((AutoCloseable) this.party).close();
                return null;
            }
            Class[] takes = method.getParameterTypes();
            Class[] theirs = new Class[takes.length];
            Object[] passed = new Object[takes.length];
            for (int place = 0; place < takes.length; place++) {
                theirs[place] = Turned.counterpart(takes[place], this.loader);
                boolean turns = theirs[place] != takes[place] && given[place] != null;
                passed[place] = turns ? Turned.turned(given[place], takes[place], this.loader) : given[place];
            }
            try {
                return this.from.getMethod(name, theirs).invoke(this.party, passed);
            } catch (InvocationTargetException thrown) {
                throw thrown.getCause();
            }
        }
    }

    /** Be a subscriber of Python's in the hands of Java, and know whether a publisher has it. */
    public static final class Door implements Flow.Subscriber {
        private final Inbox inbox;

        Door(Inbox inbox) {
            this.inbox = inbox;
            inbox.behind(this);
        }

        public void onSubscribe(Flow.Subscription subscription) {
            this.inbox.onSubscribe(subscription);
        }

        public void onNext(Object element) {
            this.inbox.onNext(element);
        }

        public void onError(Throwable failure) {
            this.inbox.onError(failure);
        }

        public void onComplete() {
            this.inbox.onComplete();
        }
    }

    /** Be a processor of Python's: a door for its upstream, and an outlet for those below. */
    public static final class Both implements Flow.Processor, AutoCloseable {
        private final Door door;
        private final Outlet outlet;

        Both(Door door, Outlet outlet) {
            this.door = door;
            this.outlet = outlet;
        }

        public void onSubscribe(Flow.Subscription subscription) {
            this.door.onSubscribe(subscription);
        }

        public void onNext(Object element) {
            this.door.onNext(element);
        }

        public void onError(Throwable failure) {
            this.door.onError(failure);
        }

        public void onComplete() {
            this.door.onComplete();
        }

        public void subscribe(Flow.Subscriber subscriber) {
            this.outlet.subscribe(subscriber);
        }

        /** Take no more subscribers; those that are there go on. */
        public void close() {
            this.outlet.close();
        }
    }

    /** Write values for Python; what has no form there is kept in `kept` and written as its place. */
    static final class Writer {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        final DataOutputStream out = new DataOutputStream(this.bytes);
        final List kept;

        Writer(List kept) {
            this.kept = kept;
        }

        void text(String text) throws IOException {
            if (text == null) {
                this.out.writeInt(-1);
            } else {
                this.out.writeInt(text.length());
                this.out.writeChars(text);
            }
        }

        void value(Object value) throws IOException {
            if (value == null) {
                this.out.writeByte('n');
            } else if (value instanceof String || value instanceof Character) {
                this.out.writeByte('s');
                this.text(value.toString());
            } else if (value instanceof Integer || value instanceof Short || value instanceof Byte) {
                this.out.writeByte('i');
                this.out.writeInt(((Number) value).intValue());
            } else if (value instanceof Long) {
                this.out.writeByte('l');
                this.out.writeLong(((Long) value).longValue());
            } else if (value instanceof Double || value instanceof Float) {
                this.out.writeByte('d');
                this.out.writeDouble(((Number) value).doubleValue());
            } else if (value instanceof Boolean) {
                this.out.writeByte(((Boolean) value).booleanValue() ? 'T' : 'F');
            } else if (value instanceof byte[]) {
                this.out.writeByte('b');
                this.out.writeInt(((byte[]) value).length);
                this.out.write((byte[]) value);
            } else if (value instanceof BigInteger) {
                byte[] number = ((BigInteger) value).toByteArray();
                this.out.writeByte('g');
                this.out.writeInt(number.length);
                this.out.write(number);
            } else if (value instanceof BigDecimal) {
                this.out.writeByte('D');
                this.text(value.toString());
            } else if (value instanceof List) {
                this.values('[', ((List) value).toArray());
            } else if (value instanceof Set) {
                this.values('(', ((Set) value).toArray());
            } else if (value instanceof Map) {
                Object[] entries = ((Map) value).entrySet().toArray();
                this.out.writeByte('{');
                this.out.writeInt(entries.length);
                for (int place = 0; place < entries.length; place++) {
                    this.value(((Map.Entry) entries[place]).getKey());
                    this.value(((Map.Entry) entries[place]).getValue());
                }
            } else {
                this.out.writeByte('r');
                this.out.writeInt(this.kept.size());
                this.kept.add(value);
            }
        }

        private void values(char tag, Object[] values) throws IOException {
            this.out.writeByte(tag);
            this.out.writeInt(values.length);
            for (int place = 0; place < values.length; place++) {
                this.value(values[place]);
            }
        }

        /** Write what Python has to know of a failure: its class, what that is a kind of, its message and its trace. */
        void failure(Throwable failure) throws IOException {
            StringWriter trace = new StringWriter();
            failure.printStackTrace(new PrintWriter(trace, true));
            PythonException known = null;
            int depth = 0;
            for (Throwable one = failure; one != null && known == null && depth < 100; one = one.getCause()) {
                known = one instanceof PythonException ? (PythonException) one : null;
                depth++;
            }
            this.text(failure.getClass().getName());
            this.out.writeByte(
                failure instanceof IllegalArgumentException ? 'V' : failure instanceof NullPointerException ? 'T' : 'E'
            );
            this.text(failure instanceof PythonException ? failure.toString() : failure.getMessage());
            this.text(trace.toString());
            this.out.writeLong(known == null ? -1L : known.key());
            this.out.writeBoolean(known == failure);
        }
    }

    /** Read values that Python wrote. */
    static final class Reader {
        final DataInputStream in;
        final List given;

        Reader(byte[] bytes, List given) {
            this.in = new DataInputStream(new ByteArrayInputStream(bytes));
            this.given = given;
        }

        String text() throws IOException {
            char[] letters = new char[this.in.readInt()];
            for (int place = 0; place < letters.length; place++) {
                letters[place] = this.in.readChar();
            }
            return new String(letters);
        }

        byte[] bytes() throws IOException {
            byte[] bytes = new byte[this.in.readInt()];
            this.in.readFully(bytes);
            return bytes;
        }

        Object value() throws IOException {
            int tag = this.in.readByte();
            if (tag == 'n') {
                return null;
            } else if (tag == 's') {
                return this.text();
            } else if (tag == 'i') {
                return Integer.valueOf(this.in.readInt());
            } else if (tag == 'l') {
                return Long.valueOf(this.in.readLong());
            } else if (tag == 'd') {
                return Double.valueOf(this.in.readDouble());
            } else if (tag == 'T' || tag == 'F') {
                return Boolean.valueOf(tag == 'T');
            } else if (tag == 'b') {
                return this.bytes();
            } else if (tag == 'g') {
                return new BigInteger(this.bytes());
            } else if (tag == 'D') {
                return new BigDecimal(this.text());
            } else if (tag == 'r') {
                return this.given.get(this.in.readInt());
            }
            int count = this.in.readInt();
            if (tag == '[') {
                List list = new ArrayList(count);
                for (int place = 0; place < count; place++) {
                    list.add(this.value());
                }
                return list;
            } else if (tag == '(') {
                Set set = new LinkedHashSet();
                for (int place = 0; place < count; place++) {
                    set.add(this.value());
                }
                return set;
            }
            Map map = new LinkedHashMap();
            for (int place = 0; place < count; place++) {
                Object key = this.value();
                map.put(key, this.value());
            }
            return map;
        }
    }

    /**
     * Be the subscriber of a publisher in this JVM, and hold what it signals until Python takes it.
     *
     * What was asked of the publisher and what is held are together never more than `window`, and never more than
     * Python has asked for. A publisher that breaks a rule is cancelled, and Python told which.
     */
    public static final class Inbox implements Flow.Subscriber {
        private static final int COMPLAINTS = 8; // of one run; more would only fill the log
        private static final long LOOK = 1000; // milliseconds between looks at whether Java still knows the door
        private WeakReference door;
        private final int window;
        private final int half;
        private final ArrayDeque queue = new ArrayDeque();
        private final List kept = new ArrayList();
        private Flow.Subscription subscription;
        private boolean subscribed;
        private boolean cancelled;
        private boolean asking;
        private long demand;
        private long owed;
        private char end; // 'C' for completion, 'E' for an error, 'B' for a breach of a rule; 0 before the end
        private Throwable failure;
        private String rule;
        private String breach;
        private int complaints;

        Inbox(int window) {
            this.window = window;
            this.half = (window + 1) / 2;
        }

        // What Python calls.

        /** Subscribe; a publisher that throws has failed. */
        public void attach(Flow.Publisher publisher) {
            try {
                publisher.subscribe(this);
            } catch (Throwable thrown) {
                this.finish('E', thrown, null, null);
            }
        }

        public void request(long n) {
            synchronized (this) {
                this.demand = Peer.add(this.demand, n);
            }
            this.ask();
        }

        public void cancel() {
            Flow.Subscription left;
            synchronized (this) {
                this.cancelled = true;
                left = this.subscription;
                this.subscription = null;
                this.queue.clear();
                this.failure = null;
                this.notifyAll();
            }
            if (left != null) {
                left.cancel();
            }
        }

        void behind(Door door) {
            this.door = new WeakReference(door);
        }

        /** Wait for a subscription, and tell whether it came; it cannot once Java knows the door no more. */
        public synchronized boolean met() throws Exception {
            while (!this.subscribed && this.end == 0 && !this.cancelled && this.door.get() != null) {
                this.wait(LOOK);
            }
            return this.subscribed || this.end != 0;
        }

        /** Ask for `more`, wait until there is something, and return it: some elements, an end, or both. */
        public byte[] take(long more) throws Exception {
            this.request(more);
            this.kept.clear();
            List some = new ArrayList();
            synchronized (this) {
                while (this.queue.isEmpty() && this.end == 0 && !this.cancelled) {
                    if (this.door == null) {
                        this.wait();
                    } else if (this.door.get() == null) {
                        this.cancelled = true; // its publisher has let go of it without a word
                    } else {
                        this.wait(LOOK);
                    }
                }
                while (!this.queue.isEmpty() && some.size() < this.half) {
                    some.add(this.queue.poll());
                }
            }
            Writer writer = new Writer(this.kept);
            for (Iterator each = some.iterator(); each.hasNext();) {
                writer.out.writeByte('N');
                writer.value(each.next());
            }
            synchronized (this) {
                if (this.cancelled) {
                    writer.out.writeByte('X');
                } else if (this.end != 0 && this.queue.isEmpty()) {
                    writer.out.writeByte(this.end);
                    if (this.end == 'E') {
                        writer.failure(this.failure);
                    } else if (this.end == 'B') {
                        writer.text(this.rule);
                        writer.text(this.breach);
                    }
                }
            }
            return writer.bytes.toByteArray();
        }

        /** Return an element that has no form in Python. */
        public Object kept(int place) {
            return this.kept.get(place);
        }

        /** Return what the publisher failed with. */
        public synchronized Throwable failure() {
            return this.failure;
        }

        private void ask() {
            while (true) {
                Flow.Subscription asked;
                long n;
                synchronized (this) {
                    long room = this.window - this.owed - this.queue.size();
                    n = Math.min(this.demand, room);
                    boolean wait = this.owed > 0 && this.demand > room && n < this.half;
                    if (this.asking || this.subscription == null || n <= 0 || wait) {
                        return;
                    }
                    this.asking = true; // rule 2.7: requests do not overlap
                    this.owed += n;
                    if (this.demand < Long.MAX_VALUE) {
                        this.demand -= n;
                    }
                    asked = this.subscription;
                }
                try {
                    asked.request(n);
                } catch (Throwable thrown) {
                    this.finish('B', null, "3.16", "the publisher's request raised " + thrown);
                }
                synchronized (this) {
                    this.asking = false;
                }
            }
        }

        // What the publisher calls.

        public void onSubscribe(Flow.Subscription subscription) {
            if (subscription == null) {
                throw this.refused("onSubscribe");
            }
            boolean second;
            boolean again;
            boolean welcome;
            synchronized (this) {
                second = this.subscribed;
                again = second && subscription == this.subscription;
                welcome = !second && !this.cancelled && this.end == 0;
                this.subscribed = true;
                if (welcome) {
                    this.subscription = subscription;
                }
                this.notifyAll();
            }
            if (welcome) {
                this.ask();
                return;
            }
            if (again) { // to cancel it is to cut the stream off
                this.finish('B', null, "2.12", "the publisher sent its subscription twice");
                return;
            }
            if (second) {
                Peer.complain("rule 2.12: the publisher called onSubscribe twice", null);
            }
            subscription.cancel(); // rule 2.5
        }

        public void onNext(Object element) {
            if (element == null) {
                throw this.refused("onNext");
            }
            boolean late;
            boolean early;
            boolean excess;
            synchronized (this) {
                late = this.end != 0 || this.cancelled;
                early = !late && !this.subscribed;
                excess = !late && !early && this.owed == 0;
                if (!late && !early && !excess) {
                    this.owed--;
                    this.queue.add(element);
                    this.notifyAll();
                }
            }
            if (late) {
                this.late("onNext", null);
            } else if (early) {
                this.finish('B', null, "1.9", "the publisher signalled before onSubscribe");
            } else if (excess) {
                this.finish('B', null, "1.1", "the publisher sent an element that was not requested");
            }
        }

        public void onError(Throwable failure) {
            if (failure == null) {
                throw this.refused("onError");
            }
            if (!this.finish('E', failure, null, null)) {
                this.late("onError", failure);
            }
        }

        public void onComplete() {
            boolean early;
            synchronized (this) {
                early = !this.subscribed;
            }
            boolean first = early
                ? this.finish('B', null, "1.9", "the publisher signalled before onSubscribe")
                : this.finish('C', null, null, null);
            if (!first) {
                this.late("onComplete", null);
            }
        }

        /** End, once; a publisher that broke a rule is cancelled. */
        private boolean finish(char end, Throwable failure, String rule, String breach) {
            Flow.Subscription left;
            synchronized (this) {
                if (this.end != 0 || this.cancelled) {
                    return false;
                }
                this.end = end;
                this.failure = failure;
                this.rule = rule;
                this.breach = breach;
                left = this.subscription;
                this.subscription = null;
                this.notifyAll();
            }
            if (end == 'B' && left != null) {
                try {
                    left.cancel();
                } catch (Throwable thrown) {
                    Peer.complain("rule 3.15: the publisher's cancel raised", thrown);
                }
            }
            return true;
        }

        private NullPointerException refused(String signal) {
            this.finish('B', null, "2.13", signal + "(null): null is not allowed here");
            return new NullPointerException("rule 2.13: " + signal + "(null): null is not allowed here");
        }

        /** Report a signal that came too late; after a cancel some may be on their way (rule 2.8). */
        private void late(String signal, Throwable failure) {
            boolean ended;
            synchronized (this) {
                ended = this.end != 0;
                if (this.end == 'B' || this.complaints == COMPLAINTS || (!ended && failure == null)) {
                    return;
                }
                this.complaints++;
            }
            String what = ended
                ? "rule 1.7: the publisher called " + signal + " after the end"
                : "an error came after the cancel";
            Peer.complain(what, failure);
        }
    }

    /** Be the publisher of a stream of Python's: everybody who subscribes gets a run of it. */
    public static final class Outlet implements Flow.Publisher, AutoCloseable {
        private final Desk desk = new Desk(this);

        public void subscribe(Flow.Subscriber subscriber) {
            if (subscriber == null) {
                throw new NullPointerException("rule 1.9: subscribe(null): a subscriber is needed");
            }
            this.desk.enter(subscriber);
        }

        /** Take no more subscribers; those that are there go on. */
        public void close() {
            this.desk.close();
        }

        public Desk desk() {
            return this.desk;
        }
    }

    /** Be where Python hears of subscribers, of what they ask for and of their cancels. */
    public static final class Desk {
        private static final long LOOK = 1000; // milliseconds between looks at whether anybody knows the outlet still
        private final WeakReference outlet;
        private final ArrayDeque told = new ArrayDeque();
        private final Map runs = new HashMap();
        private long count;
        private boolean closed;
        private String failed;

        Desk(Outlet outlet) {
            this.outlet = new WeakReference(outlet);
        }

        void enter(Flow.Subscriber subscriber) {
            Outflow run;
            boolean late;
            synchronized (this) {
                run = new Outflow(this, this.count++, subscriber);
                late = this.closed;
                if (!late) {
                    this.runs.put(Long.valueOf(run.number), run); // by now, so that nobody believes all is over
                }
            }
            try {
                subscriber.onSubscribe(run);
            } catch (Throwable thrown) {
                run.leave();
                Peer.complain("rule 2.13: the subscriber raised in onSubscribe", thrown);
                return;
            }
            String refusal;
            synchronized (this) {
                if (!late && !run.over && this.failed == null) {
                    run.open = true; // what it has asked for by now is told with it (rule 1.3)
                    this.tell(run);
                    return;
                }
                refusal = this.failed == null ? "to_flow_publisher: this publisher was closed" : this.failed;
            }
            run.fail(new IllegalStateException(refusal));
        }

        synchronized void close() {
            this.closed = true;
            this.notifyAll();
        }

        /** Have Python told of a run, once however much is to be told. */
        synchronized void tell(Outflow run) {
            if (run.open && !run.listed) {
                run.listed = true;
                this.told.add(run);
                this.notifyAll();
            }
        }

        synchronized void forget(Outflow run) {
            this.runs.remove(Long.valueOf(run.number));
            this.notifyAll();
        }

        /** Return one run, for Python to deliver to. */
        public synchronized Outflow run(long number) {
            return (Outflow) this.runs.get(Long.valueOf(number));
        }

        /** Wait until there is something to tell, and return it; nothing once all is over. */
        public byte[] take() throws Exception {
            Writer writer = new Writer(new ArrayList());
            synchronized (this) {
                while (this.told.isEmpty()) {
                    if (this.runs.isEmpty() && (this.closed || this.outlet.get() == null)) {
                        this.closed = true;
                        return new byte[0];
                    }
                    this.wait(LOOK);
                }
                while (!this.told.isEmpty()) {
                    Outflow run = (Outflow) this.told.poll();
                    writer.out.writeLong(run.number);
                    writer.out.writeBoolean(!run.met);
                    writer.out.writeBoolean(run.over);
                    writer.out.writeLong(run.asked);
                    writer.out.writeBoolean(run.illegal != null);
                    writer.out.writeLong(run.illegal == null ? 0L : run.illegal.longValue());
                    run.listed = false;
                    run.met = true;
                    run.asked = 0;
                    run.illegal = null;
                }
            }
            return writer.bytes.toByteArray();
        }

        /** End all that Python can serve no longer. */
        public void fail(String message) {
            List left;
            synchronized (this) {
                this.closed = true;
                this.failed = message;
                left = new ArrayList(this.runs.values());
            }
            for (Iterator each = left.iterator(); each.hasNext();) {
                Outflow run = (Outflow) each.next();
                if (run.open) { // else it is told when onSubscribe has returned
                    run.fail(new IllegalStateException(message));
                }
            }
        }
    }

    /** Be the subscription of one subscriber, and what Python delivers to. */
    public static final class Outflow implements Flow.Subscription {
        private final Desk desk;
        final long number;
        private Flow.Subscriber subscriber;
        boolean open;
        boolean met;
        boolean listed;
        volatile boolean over;
        long asked;
        Long illegal;

        Outflow(Desk desk, long number, Flow.Subscriber subscriber) {
            this.desk = desk;
            this.number = number;
            this.subscriber = subscriber;
        }

        public void request(long n) {
            synchronized (this.desk) {
                if (this.over) {
                    return; // rule 3.6
                }
                if (n > 0) {
                    this.asked = Peer.add(this.asked, n);
                } else if (this.illegal == null) {
                    this.illegal = Long.valueOf(n);
                }
                this.desk.tell(this);
            }
        }

        public void cancel() {
            synchronized (this.desk) {
                if (this.over) {
                    return; // rule 3.7
                }
                this.leave();
                this.desk.tell(this);
            }
        }

        /** Let go of the subscriber (rule 3.13). */
        Flow.Subscriber leave() {
            synchronized (this.desk) {
                this.over = true;
                this.desk.forget(this);
                Flow.Subscriber left = this.subscriber;
                this.subscriber = null;
                return left;
            }
        }

        /** Deliver elements; one that throws is as one that cancels (rule 2.13), and Python told. */
        public void next(byte[] frame, List given) throws Exception {
            Reader reader = new Reader(frame, given);
            while (reader.in.available() > 0) {
                Object element;
                try {
                    element = reader.value();
                } catch (Exception thrown) { // such as a number that is too large for Java
                    this.fail(thrown);
                    throw thrown;
                }
                Flow.Subscriber to = this.subscriber;
                if (this.over || to == null) {
                    return;
                }
                try {
                    to.onNext(element);
                } catch (Exception thrown) {
                    this.leave();
                    throw thrown;
                } catch (Error thrown) {
                    this.leave();
                    throw thrown;
                }
            }
        }

        public void complete() {
            Flow.Subscriber to = this.leave();
            if (to != null) {
                to.onComplete();
            }
        }

        public void fail(Throwable failure) {
            Flow.Subscriber to = this.leave();
            if (to != null) {
                to.onError(failure);
            }
        }

        public void fail(long key, String type, String message, String trace) {
            this.fail(new PythonException(key, type, message, trace));
        }

        /** Fail as rule 3.9 asks for. */
        public void refuse(String message) {
            this.fail(new IllegalArgumentException(message));
        }
    }
}
