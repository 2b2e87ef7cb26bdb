// Talk to the test: a JSON value per line, out and in.
'use strict';

const readline = require('readline');

exports.say = message => process.stdout.write(JSON.stringify(message) + '\n');

exports.hear = listener => {
  readline.createInterface({input: process.stdin}).on('line', line => listener(JSON.parse(line)));
  process.stdin.on('end', () => process.exit(0));
};
