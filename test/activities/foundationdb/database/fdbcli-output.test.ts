// The readers of fdbcli's output against every recorded command that the adapter uses.

import { describe, expect, it } from 'vitest'

import {
  checkCommand,
  checkConfigure,
  checkCoordinators,
  checkKill,
  type CommandFailure,
  parseExclude,
  parseExclusions,
  parsePairs,
  parseVersion,
} from '../../../../activities/foundationdb/database/fdbcli-output.ts'
import type { ToolResult } from '../../../../activities/foundationdb/database/run-tool.ts'
import { hasRecordings, type RecordedCommand, recordedCommands } from '../../../support/foundationdb/recordings.ts'

type Check = (result: ToolResult, words: readonly string[]) => unknown

const CHECKS: Readonly<Record<string, Check>> = {
  configure: checkConfigure,
  coordinators: checkCoordinators,
  exclude: (result, words) => (words.length === 1 ? parseExclusions(result) : parseExclude(result)),
  include: (result) => {
    checkCommand('include', result)
  },
  maintenance: (result) => {
    checkCommand('maintenance', result)
  },
  kill: (result, words) => {
    checkKill(result, words.length - 1)
  },
}

// The adapter sends `kill` with its list of addresses in the second command.
function wordsOf({ exec = '' }: RecordedCommand): readonly string[] {
  const commands = exec.split('; ')
  return (commands[0] === 'kill' ? (commands[1] ?? '') : exec).split(' ')
}

function verdictOf(command: RecordedCommand): string {
  const words = wordsOf(command)
  try {
    const value = CHECKS[words[0] ?? '']?.({ ...command, hasTimedOut: command.exitCode === undefined }, words)
    return Array.isArray(value) ? value.map(textOf).join(', ') || 'nothing' : 'done'
  } catch (error) {
    const { kind, message } = error as CommandFailure
    return `${kind}: ${message.slice(0, 90)}`
  }
}

function textOf(value: string | { readonly target: string; readonly state: string }): string {
  return typeof value === 'string' ? value : `${value.target} ${value.state}`
}

function output(stdout: string, stderr = '', exitCode = 0): ToolResult {
  return { stdout, stderr, exitCode, hasTimedOut: false }
}

describe.skipIf(!hasRecordings)('the output of a recorded command', () => {
  it('has the outcome that the golden file names', async () => {
    const commands = recordedCommands((command) => Object.hasOwn(CHECKS, wordsOf(command)[0] ?? ''))
    const lines = commands.map((command) => `${command.name} ${command.exec} => ${verdictOf(command)}`)
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./recorded-outcomes.txt')
  })

  it('contains the stored pairs', () => {
    const pairs = recordedCommands(({ exec }) => /getrange|; get |^get /.test(exec ?? '')).flatMap(({ stdout }) =>
      parsePairs(stdout),
    )
    const texts = pairs.map(({ key, value }) => `${hex(key)} ${hex(value)}`)
    expect(texts).toContain(
      `${Buffer.from('\0\xff', 'latin1').toString('hex')} ${Buffer.from('a b;c').toString('hex')}`,
    )
    expect(texts).toContain(
      `${Buffer.from('\xff\x02/org.foundationdb.kubernetes-operator/global', 'latin1').toString('hex')} 0264633100185f5e1000185f5e1258`,
    )
  })

  it('names version and protocol', () => {
    const [version] = recordedCommands(({ argv }) => argv[0] === 'fdbcli' && argv[1] === '--version')
    expect(parseVersion(version?.stdout ?? '')).toEqual({ version: '7.1.67', protocol: 'fdb00b071010000' })
  })
})

describe('a kill', () => {
  it('is refused when fewer processes than requested were sent the request', () => {
    expect(() => {
      checkKill(output('Attempted to kill 1 processes\n'), 2)
    }).toThrow(/did not report/)
  })
})

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
