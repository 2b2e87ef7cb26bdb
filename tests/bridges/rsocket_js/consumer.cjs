// Consume a stream or a channel of a penstock server, asking for elements when the test says so.
// node consumer.cjs ADDRESS TOKEN stream|channel NAME
'use strict';

const core = require('rsocket-core');
const {Flowable} = require('rsocket-flowable');
const {say, hear} = require('./talk.cjs');

const [address, token, interaction, name] = process.argv.slice(2);
const url = new URL(address);

function transport() {
  if (url.protocol === 'ws:') {
    const Client = require('rsocket-websocket-client').default;
    return new Client({url: address, wsCreator: to => new (require('ws'))(to)}, core.BufferEncoders);
  }
  const Client = require('rsocket-tcp-client').default;
  return new Client({host: url.hostname, port: Number(url.port)}, core.BufferEncoders);
}

const metadata = (type, content) => core.encodeCompositeMetadata([[type, content]]);
const element = value => ({
  data: Buffer.from(JSON.stringify(value)),
  metadata: metadata(core.MESSAGE_RSOCKET_ROUTING, core.encodeRoute(name)),
});

// What is sent into a channel: as many as the server asks for, told to the test.
const sent = new Flowable(subscriber => {
  let next = 1;
  let over = false;
  subscriber.onSubscribe({
    request: n => {
      say({asked: n});
      for (let left = n; left > 0 && next <= 5; left--) subscriber.onNext(element(next++));
      if (next > 5 && !over) {
        over = true;
        subscriber.onComplete();
      }
    },
    cancel: () => say({stopped: true}),
  });
});

const client = new core.RSocketClient({
  setup: {
    keepAlive: 1000,
    lifetime: 30000,
    dataMimeType: 'application/json',
    metadataMimeType: 'message/x.rsocket.composite-metadata.v0',
    payload: {data: null, metadata: metadata(core.MESSAGE_RSOCKET_AUTHENTICATION, core.encodeBearerAuthMetadata(token))},
  },
  transport: transport(),
});

client.connect().subscribe({
  onComplete: socket => {
    const results = interaction === 'channel' ? socket.requestChannel(sent) : socket.requestStream(element(null));
    results.subscribe({
      onSubscribe: subscription => {
        hear(message => ('request' in message ? subscription.request(message.request) : subscription.cancel()));
        say({subscribed: true});
      },
      onNext: payload => say({next: JSON.parse(payload.data.toString())}),
      onComplete: () => say({complete: true}),
      onError: error => say({error: error.source ? error.source.message : error.message}),
    });
    socket.connectionStatus().subscribe({
      onNext: status => say({status: status.kind, why: String(status.error || '')}),
      onSubscribe: subscription => subscription.request(100),
    });
  },
  onError: error => say({unconnected: error.message}),
});
