// Serve streams and a channel for a penstock consumer; every request that arrives is told to the test.
// node producer.cjs tcp|websocket
'use strict';

const net = require('net');
const core = require('rsocket-core');
const {Flowable} = require('rsocket-flowable');
const {say, hear} = require('./talk.cjs');

const element = value => ({data: Buffer.from(JSON.stringify(value)), metadata: null});

// Count up to `last`, as asked for, then complete or fail.
function counting(last, failure) {
  return new Flowable(subscriber => {
    let next = 1;
    let over = false;
    subscriber.onSubscribe({
      request: n => {
        say({asked: n});
        for (let left = n; left > 0 && next <= last && !over; left--) subscriber.onNext(element(next++));
        if (next > last && !over) {
          over = true;
          failure ? subscriber.onError(new Error(failure)) : subscriber.onComplete();
        }
      },
      cancel: () => {
        over = true;
        say({cancelled: true});
      },
    });
  });
}

// More than was asked for, past the library's own guard.
function flooding() {
  return {
    subscribe: subscriber => {
      subscriber.onSubscribe({
        request: () => {
          for (let n = 1; n <= 100; n++) subscriber.onNext(element(n));
        },
        cancel: () => say({cancelled: true}),
      });
    },
  };
}

const streams = {
  few: () => counting(5),
  endless: () => counting(Infinity),
  failing: () => counting(2, 'ValueError: no such pipe'),
  strange: () => counting(2, 'the valve is stuck'),
  flood: flooding,
  garbage: () => Flowable.just({data: Buffer.from('{not json'), metadata: null}),
  large: () => Flowable.just(element('x'.repeat(300000))),
};

function nameOf(payload) {
  for (const entry of core.decodeCompositeMetadata(payload.metadata)) {
    if (entry.mimeType === 'message/x.rsocket.routing.v0') return entry.content.toString('utf8', 1);
  }
  throw new Error('no route');
}

const responder = {
  requestStream: payload => (streams[nameOf(payload)] || (() => Flowable.error(new Error('unknown'))))(),
  requestChannel: payloads =>
    payloads.map(payload => {
      const number = JSON.parse(payload.data.toString());
      say({taken: number});
      return element(2 * number);
    }),
};

function server() {
  const listening = found => say({port: found.address().port});
  if (process.argv[2] === 'websocket') {
    const Server = require('rsocket-websocket-server').default;
    const factory = options => {
      const made = new (require('ws').Server)(options);
      made.on('listening', () => listening(made));
      return made;
    };
    return new Server({host: '127.0.0.1', port: 0}, core.BufferEncoders, factory);
  }
  const Server = require('rsocket-tcp-server').default;
  const serverFactory = onConnect => {
    const made = net.createServer(onConnect);
    made.on('listening', () => listening(made));
    return made;
  };
  return new Server({host: '127.0.0.1', port: 0, serverFactory}, core.BufferEncoders);
}

new core.RSocketServer({
  getRequestHandler: (socket, setup) => {
    const [entry] = core.decodeCompositeMetadata(setup.metadata);
    say({token: core.decodeAuthMetadata(entry.content).payload.toString()});
    return responder;
  },
  transport: server(),
}).start();

hear(() => {});
