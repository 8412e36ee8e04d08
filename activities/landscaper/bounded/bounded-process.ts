// One process in the place of a worker thread (bounded-thread.ts), for code that is made from what tenants wrote. A thread may do all that our
// process may: read its files and tokens, connect, end others. This process may read the code that it runs and nothing else, and has no
// environment; what Node has no flag for it takes from itself (sealed-process.ts).
//
//   B1. It ends with us, however we end: by the loss of its channel, and in the midst of work by its own clock.

import { fork } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { boundedBy, clock, HEAP_LIMIT_MIB, type BoundedThread } from './bounded-thread.ts'
import { modulePaths } from './module-paths.ts'

/** The process imports modules of the wing, the YAML reader, and the kit's reader of numbers. */
const MODULES = ['../', '../../yaml/', `../../../workflows/kit/kind/exact-json${extname(import.meta.filename)}`].map(
  (module) => fileURLToPath(new URL(module, import.meta.url)),
)

/** So that schemas may be as deep as they may be in a thread; most systems give a program 8 MiB. */
const STACK_KIB = 3800

/** What the process is told at once. */
export interface SealedRequest {
  readonly text: string
  readonly timeoutMs: number
}

/**
 * Starts a process that runs `file`, a module of this wing which calls `serveSealed`. Requests are texts, replies JSON values; while it has
 * nothing to do it does not keep ours alive.
 *
 * @param packages that the module, and what it imports of the wing, import.
 */
export function startProcess(file: URL, packages: readonly string[]): BoundedThread {
  return boundedBy(({ message, end }) => {
    const path = fileURLToPath(file)
    const child = fork(path, [], {
      cwd: '/',
      env: {},
      execArgv: [...FLAGS, ...modulePaths(path, MODULES, packages).map((each) => `--allow-fs-read=${each}`)],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      serialization: 'json',
    })
    let isGone = false
    const gone = new Promise<void>((resolve) => {
      child.once('exit', (code, signal) => {
        isGone = true
        end(signal === 'SIGABRT' || code === ABORTED ? 'memory' : 'crash')
        resolve()
      })
      child.on('error', () => {
        // Else it tells of a message that was not sent, and the end comes by itself.
        if (child.pid !== undefined) return
        isGone = true
        end('crash')
        resolve()
      })
    })
    child.on('message', message)
    return {
      post: (text, timeoutMs) => {
        // After its end nothing else would settle the request.
        if (isGone) queueMicrotask(() => end('crash'))
        else child.send({ text, timeoutMs }, () => undefined)
      },
      // By which it ends itself, too.
      time: clock,
      hold: () => {
        child.ref()
        child.channel?.ref()
      },
      release: () => {
        child.unref()
        child.channel?.unref()
      },
      stop: async () => {
        if (isGone) return
        child.ref()
        child.kill('SIGKILL')
        await gone
      },
    }
  })
}

/** Where there are no signals. */
const ABORTED = 134

const FLAGS = [
  '--permission',
  // It would open a port for a debugger.
  '--disable-sigusr1',
  `--max-old-space-size=${HEAP_LIMIT_MIB}`,
  `--stack-size=${STACK_KIB}`,
  '--disable-warning=ExperimentalWarning',
]
