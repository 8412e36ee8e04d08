// The inside of a process that runs code made from what tenants wrote (bounded-process.ts). Files, processes, threads and the environment are
// kept from it by the flags that it was started with. Node has none for the network and for signals to other processes, so after its imports it
// seals itself:
//
//   S1. No module is found any more, also none of Node's own.
//   S2. There are no globals but the language's: no `process`, no `fetch`, nothing that leads to them.
//   S3. `process`, should somebody come by it, can neither end other processes nor hand out modules.
//   S4. Each answer has a time limit of its own, a little later than that of whoever asks: so nobody's endless pattern goes on when nobody is left.

import { registerHooks } from 'node:module'
import process from 'node:process'
import { runInNewContext, Script } from 'node:vm'
import type { SealedRequest } from './bounded-process.ts'

/** Time for whoever asks to end us himself. */
const GRACE_MS = 1000

/** The one name that we add to the globals; calling it asks the same question again. */
const ANSWER = 'answerTheQuestion'

/** Seals the process and answers requests, one at a time, for as long as its parent is there. `answer` returns a JSON value. */
export function serveSealed(answer: (text: string) => unknown): void {
  if (process.send === undefined)
    throw new Error('sealed process: found no channel, expected to be started by bounded-process.ts')
  let [question, reply]: [string, unknown] = ['', undefined]
  const call = () => {
    reply = answer(question)
  }
  process.on('message', ({ text, timeoutMs }: SealedRequest) => {
    question = text
    // Only code that is run so has a limit.
    script.runInThisContext({ timeout: Math.ceil(timeoutMs) + GRACE_MS })
    process.send?.(reply)
  })
  process.on('disconnect', () => process.exit())
  // They are for those whom we work for, who end us when they have ended; systems send them to whole groups.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  const script = new Script(`${ANSWER}()`)
  seal()
  Object.defineProperty(globalThis, ANSWER, { value: call })
  // The parent may have gone before we listened.
  if (process.connected) process.send({ threadID: process.pid })
  else process.exit()
}

function seal(): void {
  const refuse = (): never => {
    throw new Error('sealed process: modules are not to be found any more')
  }
  registerHooks({ resolve: refuse, load: refuse })
  for (const name of POWERS) {
    Object.defineProperty(process, name, { value: undefined, configurable: false, writable: false })
  }
  const language = new Set<PropertyKey>(languageGlobals())
  for (const name of Reflect.ownKeys(globalThis)) {
    if (!language.has(name) && !Reflect.deleteProperty(globalThis, name)) {
      throw new Error(`sealed process: found a global ${String(name)} that stays, expected it to go`)
    }
  }
}

const POWERS = [
  ...['kill', '_kill', '_debugProcess', '_debugEnd', 'abort', 'execve', 'binding', '_linkedBinding', 'dlopen'],
  ...['getBuiltinModule', 'mainModule', 'chdir', 'setuid', 'setgid', 'seteuid', 'setegid', 'setgroups', 'initgroups'],
]

/** As they are in a realm that Node has added nothing to. */
function languageGlobals(): readonly string[] {
  const names = runInNewContext('Object.getOwnPropertyNames(globalThis)') as readonly string[]
  // The console is Node's and leads to its streams; the other can make code, of which there is enough.
  return names.filter((name) => name !== 'console' && name !== 'WebAssembly')
}
