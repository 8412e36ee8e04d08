// The chaos-handler as a real process with real signals.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

import { afterEach, describe, expect, it } from 'vitest'

const PROGRAM = join(import.meta.dirname, '../../../../worker/program.ts')
const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** @returns when the handler waits or has ended. */
async function handler(...args: readonly string[]) {
  const child = spawn(process.execPath, [PROGRAM, 'injector', 'chaos-handler', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  const lines: string[] = []
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const waits = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', (line) => {
        lines.push(line)
        if (line.includes('waiting')) resolve()
      })
  })
  await Promise.race([waits, ended])
  return { child, lines, ended }
}

describe('the chaos-handler', { timeout: 120_000 }, () => {
  it("lets the containers start after the injector's signal", async () => {
    const { child, ended, lines } = await handler('--timeout', '1h')
    child.kill('SIGUSR1')
    expect(await ended).toBe(0)
    expect(lines.join('\n')).toContain('the pod is disturbed')
  })

  it('fails without a signal before the timeout', async () => {
    expect(await (await handler('--timeout', '50ms')).ended).toBe(1)
  })

  it('succeeds without a signal if it is configured to', async () => {
    expect(await (await handler('--timeout', '50ms', '--succeed-on-timeout')).ended).toBe(0)
  })

  it('fails when it is terminated, also if it is configured to succeed', async () => {
    const { child, ended } = await handler('--timeout', '1h', '--succeed-on-timeout')
    child.kill('SIGTERM')
    expect(await ended).toBe(1)
  })

  it('reports invalid arguments', async () => {
    const { ended, lines } = await handler('--timeout', 'soon', '--forever', 'yes')
    expect(await ended).toBe(1)
    expect(lines).toEqual([
      "injector: --timeout: found 'soon'; expected a duration such as 1m30s, more than nothing",
      'injector: --forever: unknown flag; expected one of --succeed-on-timeout, --timeout',
    ])
  })
})
