// The worker module of a template thread: one instance of the template engine.

import { parentPort, workerData } from 'node:worker_threads'
import { type EngineInstance, startEngine } from '../../../templates/engine-instance.ts'
import type { WasmModule } from '../../../templates/web-assembly.ts'
import { threadID } from '../../bounded/cpu-time.ts'

export type ThreadReply =
  /** `answer` is JSON, see renderAnswer in deploy/templates/main.go. */
  | { readonly type: 'answer'; readonly answer: string; readonly memoryBytes: number }
  | { readonly type: 'died'; readonly reason: EndReason }

export type EndReason = 'memory' | 'stack' | 'crash'

function render(engine: EngineInstance, request: string): ThreadReply {
  try {
    const answer = engine.render(request)
    return { type: 'answer', answer, memoryBytes: engine.memoryBytes() }
  } catch (error) {
    return { type: 'died', reason: reasonOf(error, engine.stderr()) }
  }
}

function reasonOf(error: unknown, stderrText: string): EndReason {
  if (/out of memory|cannot allocate memory/.test(stderrText)) return 'memory'
  if (error instanceof RangeError || stderrText.includes('stack overflow')) return 'stack'
  return 'crash'
}

const port = parentPort
if (port === null) throw new Error('template worker: started as a program; expected to be a worker thread')
const engine = startEngine(workerData as WasmModule)
port.on('message', (request: string) => port.postMessage(render(engine, request)))
port.postMessage({ threadID: threadID() })
