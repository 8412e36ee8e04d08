import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'vitest'

/**
 * Starts the container that waits until its pod is disturbed, and tells it that it is, as an injector does: by a signal to its first process.
 *
 * @param program what Node is given in front of `chaos-handler`.
 * @returns exit code, signal and log.
 */
export async function handlerToldOf(program: readonly string[]) {
  const child = spawn(process.execPath, [...program, 'chaos-handler', '--timeout', '1h'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  await expect.poll(() => text, { timeout: 50_000 }).toContain('"message":"waiting"')
  child.kill('SIGUSR1')
  const [code, signal] = (await closed) as [number | null, string | null]
  return { code, signal, text }
}
