// Command lines of fdbserver that end at once, as recorded.

import { describe, expect, it } from 'vitest'

import { fdbserver } from '../../../../activities/foundationdb/simulator/server/fdbserver.ts'
import { VirtualClock } from '../../../../activities/foundationdb/simulator/core/clock.ts'
import { DEFAULT_VERSION } from '../../../../activities/foundationdb/simulator/version.ts'
import { recordedCommands } from './recordings.ts'

const FILES: Readonly<Record<string, string>> = {
  '$DIR/c01/fdb.cluster': 'test:abc@127.0.0.1:4501\n',
  '$DIR/c01/empty': '',
}

async function run(argv: readonly string[]): Promise<{ exit: number; stdout: string; stderr: string }> {
  const output = { stdout: '', stderr: '' }
  const exit = await fdbserver(argv, {
    version: DEFAULT_VERSION,
    commandLine: 'fdbserver',
    clock: new VirtualClock(),
    timeScale: 1,
    environment: {},
    stdout: (text) => (output.stdout += text),
    stderr: (text) => (output.stderr += text),
    input: { next: () => Promise.resolve({ done: true, value: undefined }) },
    readFile: (path) => {
      const text = FILES[path]
      if (text === undefined) throw Object.assign(new Error(path), { code: 'ENOENT' })
      return text
    },
    writeFile: () => undefined,
    isDirectory: () => false,
    random: () => 0,
    wallSeconds: () => 0,
  })
  return { exit, ...output }
}

const commands = ['00-versions-and-help', '02-cluster-file-errors']
  .flatMap(recordedCommands)
  .filter(({ tool, exit }) => tool === 'fdbserver' && exit >= 0)

describe('fdbserver', () => {
  it.each(commands)('answers $argv as recorded in $name', async ({ argv, exit, stdout, stderr }) => {
    const result = await run(argv)
    expect(result.exit).toBe(exit)
    if (stdout === '<help>') expect(result.stdout).toContain('Usage: ')
    else expect(result.stdout).toBe(stdout)
    expect(result.stderr).toBe(stderr.replaceAll('$DIR/bin/', ''))
  })

  it('has recorded commands', () => {
    expect(commands.length).toBeGreaterThan(5)
  })
})
