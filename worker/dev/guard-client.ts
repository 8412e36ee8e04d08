// Starts the guard process, which cleans up if this process is killed (SIGKILL or a crash).

import { spawn } from 'node:child_process'

import { modulePath } from '../server/config.ts'
import type { ProcessIdentity } from '../server/process-identity.ts'

export interface Guard {
  /** Kills the process when this process dies. */
  watch(identity: ProcessIdentity): void
  /** Removes the folder when this process dies. */
  remove(dir: string): void
  /** Ends the guard without clean-up. */
  release(): void
}

/** Starts the guard. The guard notices the death of this process by the end of its input. */
export async function startGuard(): Promise<Guard> {
  const child = spawn(process.execPath, [modulePath('dev/guard.ts')], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
  // Without the guard, only the clean-up after a crash is lost.
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
