// Serves requests in a child process (bounded-process.ts) that runs code generated from tenants' input. Node's flags deny the process files,
// processes, threads and the environment. Node has no flags for the network and for signals to other processes, so the process removes these functions
// after its imports, before the first request:
//
//   S1. No module can be imported any more, including Node's built-in modules.
//   S2. The globals of the language remain; all others are deleted, for example `process` and `fetch`.
//   S3. A `process` object that code still reaches can neither end other processes nor load modules.
//   S4. Each request has a time limit in the process itself, slightly later than the parent's limit, so an endless regular expression ends even when
//       the parent has died.

import { registerHooks } from 'node:module'
import process from 'node:process'
import { runInNewContext, Script } from 'node:vm'
import type { SealedRequest } from './bounded-process.ts'

/** How much later than the parent's time limit the limit of this process ends a request (S4). */
const GRACE_MS = 1000

/** The only global that is added; calling it processes the current request. */
const CALL_NAME = 'answerRequest'

/** Applies S1 to S3, and then answers one request at a time until the parent disconnects. `answer` returns a JSON value. */
export function serveSealed(answer: (text: string) => unknown): void {
  if (process.send === undefined)
    throw new Error('sealed process: found no channel; expected to be started by bounded-process.ts')
  let [request, reply]: [string, unknown] = ['', undefined]
  const call = () => {
    reply = answer(request)
  }
  process.on('message', ({ text, timeoutMs }: SealedRequest) => {
    request = text
    // Node limits the time only of code that runs in a script.
    script.runInThisContext({ timeout: Math.ceil(timeoutMs) + GRACE_MS })
    process.send?.(reply)
  })
  process.on('disconnect', () => process.exit())
  // Terminals send these signals to whole process groups; the parent handles them and ends this process when it ends.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  const script = new Script(`${CALL_NAME}()`)
  seal()
  Object.defineProperty(globalThis, CALL_NAME, { value: call })
  // The first message reports that the process is ready. The parent lowers the priority of this ID; on Linux a process ID is also the ID of the main
  // thread. The parent may have disconnected before the handler was added.
  if (process.connected) process.send({ threadID: process.pid })
  else process.exit()
}

function seal(): void {
  const refuse = (): never => {
    throw new Error('sealed process: modules are not to be found any more')
  }
  registerHooks({ resolve: refuse, load: refuse })
  for (const name of REMOVED_FUNCTIONS) {
    Object.defineProperty(process, name, { value: undefined, configurable: false, writable: false })
  }
  const allowedGlobals = new Set<PropertyKey>(languageGlobals())
  for (const name of Reflect.ownKeys(globalThis)) {
    if (!allowedGlobals.has(name) && !Reflect.deleteProperty(globalThis, name)) {
      throw new Error(`sealed process: found a global ${String(name)} that stays; expected it to go`)
    }
  }
}

const REMOVED_FUNCTIONS = [
  ...['kill', '_kill', '_debugProcess', '_debugEnd', 'abort', 'execve', 'binding', '_linkedBinding', 'dlopen'],
  ...['getBuiltinModule', 'mainModule', 'chdir', 'setuid', 'setgid', 'seteuid', 'setegid', 'setgroups', 'initgroups'],
]

/** The globals of a new realm, to which Node has added nothing. */
function languageGlobals(): readonly string[] {
  const names = runInNewContext('Object.getOwnPropertyNames(globalThis)') as readonly string[]
  // The console belongs to Node and leads to its streams; WebAssembly can compile code.
  return names.filter((name) => name !== 'console' && name !== 'WebAssembly')
}
