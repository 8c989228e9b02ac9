import type { FastifyPluginAsync } from 'fastify';
import { ControlError, type Lab } from '../lab/lab.ts';
import { lessonLength, playLesson } from '../lab/lesson/play-lesson.ts';
import { readAssets } from './assets.ts';
import { EventStream } from './event-stream.ts';
import { guard } from './guard.ts';

/** Larger than anything the page sends. */
const bodyBytesMax = 1_024;

/** The page, its live state and its buttons, as a plugin of whichever server runs the system. */
export function pagePlugin(lab: Lab): FastifyPluginAsync {
  return async (app) => {
    const assets = readAssets();
    const stream = new EventStream({
      state: () => JSON.stringify(lab.snapshot()),
      onChange: (listener) => lab.onChange(listener),
    });
    app.addHook('preClose', async () => {
      stream.close();
      lab.close();
    });
    app.addHook('onRequest', guard);

    app.get('/', async (_, reply) => {
      const { contentType, bytes } = assets.get('index.html')!;
      return reply.type(contentType).send(bytes);
    });
    app.get<{ Params: { name: string } }>('/page/:name', async ({ params }, reply) => {
      const asset = assets.get(params.name);
      if (asset === undefined) return reply.code(404).send({ message: 'There is no such file.' });
      return reply.type(asset.contentType).send(asset.bytes);
    });
    // A HEAD would open a stream that can't be written to.
    app.get('/events', { exposeHeadRoute: false }, (_, reply) => {
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (value !== undefined) reply.raw.setHeader(name, value);
      if (stream.add(reply.raw)) reply.hijack();
      else void reply.code(503).send({ message: 'Too many pages are open. Close one.' });
    });
    app.get<{ Params: { step: string } }>('/lesson/:step', async ({ params }, reply) => {
      const step = Number(params.step);
      if (!Number.isInteger(step) || step < 1 || step > lessonLength)
        return reply.code(404).send({ message: `The lesson has the steps 1 to ${lessonLength}.` });
      return playLesson(step);
    });
    app.post<{ Params: { action: string } }>('/lab/:action', { bodyLimit: bodyBytesMax }, async ({ params }, reply) => {
      try {
        await lab.press(params.action);
        return { pressed: params.action };
      } catch (error) {
        if (!(error instanceof ControlError)) throw error;
        return reply.code(409).send({ message: error.message });
      }
    });
  };
}
