// The first thing that newcomers run (README): the tour, with the servers that it starts, the webhook among them.

import { spawn } from 'node:child_process'
import { join } from 'node:path'

import { expect, it, onTestFinished } from 'vitest'

import { abilityHere } from '../../worker/demo/shop-processes.ts'

const DEMO = join(import.meta.dirname, '../../worker/demo.js')
const LIMIT = 300_000
/** The result of the chapter on chaos, by the features of the machine. */
const CHAOS = {
  'slow down': 'N pages a second, N while it was slowed down, N after it; all is clean',
  kill: 'N pages a second, killed once, N after it; all is clean',
  nothing: 'left alone, since nothing can be disturbed on this machine',
} as const

it('npm run demo comes to its summary, with each example as its title says, and ends', { timeout: LIMIT }, async () => {
  const { code, output } = await demo()
  expect({ code, end: output.slice(-1500) }).toMatchObject({ code: 0 })
  const summary = output.slice(output.lastIndexOf('What happened'))
  expect(
    summary
      .replaceAll(/[\d.]+ s\b/g, 'N s')
      .replaceAll(/\d+ (pages|while|after|transactions|with)\b/g, 'N $1')
      .split('\n')
      .slice(1, 11),
  ).toEqual([
    '  servers were ready after N s',
    '  diamond: Succeeded after N s',
    '  failing-branch: Failed after N s',
    '  cycle: Failed after N s',
    '  cycle found: a -> b -> c -> a',
    '  diamond: Succeeded again after N s',
    '  diamond: deleted after N s, with all its items',
    '  bookshop: Succeeded after N s',
    `  shop: ${CHAOS[abilityHere().can]}`,
    '  sample: N transactions a second, N after a lost pod, N with 6 processes, N with 5 again; no key is lost',
  ])
})

async function demo(): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(process.execPath, [DEMO], { stdio: ['ignore', 'pipe', 'pipe'] })
  // It stops its servers on a signal.
  onTestFinished(() => void child.kill('SIGTERM'))
  let output = ''
  const take = (chunk: Buffer) => (output += chunk.toString())
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, output }
}
