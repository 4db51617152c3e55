import { parentPort } from 'node:worker_threads'
import { expose } from 'comlink/dist/esm/comlink.mjs'
import nodeEndpoint from 'comlink/dist/esm/node-adapter.mjs'
import { Counter } from './counter.js'

expose(new Counter(), nodeEndpoint(parentPort!))
