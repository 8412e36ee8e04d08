// Our end of the guard: a small process that cleans up when we are killed without a chance to (SIGKILL, a crash).

import { spawn } from 'node:child_process'

import { modulePath } from '../server/config.ts'
import type { ProcessIdentity } from './process-identity.ts'

export interface Guard {
  /** Has the process killed when we die. */
  watch(identity: ProcessIdentity): void
  /** Has the folder removed when we die. */
  remove(dir: string): void
  /** Ends the guard without any effect: all is cleaned up. */
  release(): void
}

/** Starts the guard. It learns of our death by the end of its input, which the system closes whatever killed us. */
export async function startGuard(): Promise<Guard> {
  const child = spawn(process.execPath, [modulePath('dev/guard.ts')], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
  // A guard that died (somebody killed it) costs only the safety net.
  child.stdin.on('error', () => undefined)
  child.unref()

  const send = (message: unknown) => child.stdin.write(`${JSON.stringify(message)}\n`)
  return {
    watch: (identity) => void send({ kill: identity }),
    remove: (dir) => void send({ remove: dir }),
    release: () => {
      send({ release: true })
      child.stdin.end()
    },
  }
}
