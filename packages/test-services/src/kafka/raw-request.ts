import { connect } from 'node:net';

/**
 * One request on a connection of its own, in the protocol's old (not flexible) encoding; resolves with the reply's body.
 * So that what the tests rely on does not rest on the code under test.
 */
export function rawRequest(
  port: number,
  apiKey: number,
  apiVersion: number,
  body: Buffer,
  timeoutMs: number,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const head = Buffer.alloc(14);
    head.writeInt32BE(head.length - 4 + body.length, 0);
    head.writeInt16BE(apiKey, 4);
    head.writeInt16BE(apiVersion, 6);
    head.writeInt32BE(1, 8);
    head.writeInt16BE(-1, 12);
    let received = Buffer.alloc(0);
    const socket = connect({ port, host: '127.0.0.1' });
    const fail = (error: Error) => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    const timer = setTimeout(() => fail(new Error(`No answer on port ${port} within ${timeoutMs} ms.`)), timeoutMs);
    socket.once('connect', () => socket.write(Buffer.concat([head, body])));
    socket.once('error', fail);
    socket.once('end', () => fail(new Error(`The broker on port ${port} closed the connection.`)));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 4 || received.length < 4 + received.readInt32BE(0)) return;
      clearTimeout(timer);
      socket.destroy();
      resolve(received.subarray(8));
    });
  });
}
