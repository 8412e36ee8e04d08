// Runs the simulator's fdbmonitor as a process, and reads recorded and real logs of fdbmonitor in one form.

import { spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { writeExecutables } from '../../../../../activities/foundationdb/simulator/bin.ts'

const RECORDINGS = join(import.meta.dirname, '../../recordings')

/** The path of fdbmonitor in a folder of executables. */
export const FDBMONITOR = join(
  writeExecutables(mkdtempSync(join(tmpdir(), 'fdb-bin-')), process.execPath),
  'fdbmonitor',
)

/** A process that lives until a signal ends it; SIGUSR1 ends it with exit code 0, as `kill` of fdbcli does. */
const SERVER = `#!/bin/sh
case "$*" in *--nonsense_option*)
  echo "ERROR: unknown option: \\\`--nonsense_option'" >&2
  echo "Try \\\`$0 --help' for more information." >&2
  exit 1
esac
trap 'exit 0' USR1
echo "FDBD joined cluster."
while :; do sleep 0.05; done
`

export interface LogStep {
  /** The text of the recorded event before the lines; undefined before the first event. */
  readonly event: string | undefined
  readonly lines: readonly string[]
}

export class MonitorProcess {
  readonly folder = mkdtempSync(join(tmpdir(), 'fdbmonitor-'))
  readonly conf = join(this.folder, 'fdbmonitor.conf')
  readonly server = join(this.folder, 'fdbserver')
  private child: ChildProcess | undefined
  private output = ''
  private readUpTo = 0

  constructor() {
    writeFileSync(this.server, SERVER)
    chmodSync(this.server, 0o755)
  }

  writeConf(text: string): void {
    const temporary = join(this.folder, 'next')
    writeFileSync(temporary, text)
    renameSync(temporary, this.conf)
  }

  start(env: Readonly<Record<string, string>>): this {
    const lock = join(this.folder, 'fdbmonitor.lockfile')
    const args = ['--conffile', this.conf, '--lockfile', lock, '--loggroup', 'test']
    const child = spawn(FDBMONITOR, args, { env: { ...process.env, ...env } })
    child.stderr.on('data', (data: Buffer) => (this.output += data.toString()))
    this.child = child
    return this
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal)
  }

  /** Resolves with the exit code. */
  async end(): Promise<number | null> {
    const child = this.child
    if (child === undefined) throw new Error('fdbmonitor was not started')
    if (child.exitCode !== null) return child.exitCode
    return await new Promise((resolve) => child.once('close', resolve))
  }

  /** The PID of the newest process of a section. */
  pidOf(id: string): number {
    const found = [...this.output.matchAll(new RegExp(`Launching \\S+ \\((\\d+)\\) for ${id}$`, 'gm'))]
    return Number(found.at(-1)?.[1])
  }

  /** Returns the lines since the last call, once there are as many as expected. */
  async nextLines(count: number): Promise<string[]> {
    const read = (): string[] => this.lines().slice(this.readUpTo)
    await expect.poll(() => read().length, { interval: 5, timeout: 10_000 }).toBeGreaterThanOrEqual(count)
    const lines = read().slice(0, count)
    this.readUpTo += count
    return lines
  }

  /** All complete lines that are no output of a server. */
  lines(): string[] {
    const text = this.output.slice(0, this.output.lastIndexOf('\n') + 1)
    return (
      readLog(
        text.replaceAll(this.server, '$DIR/bin/fdbserver').replaceAll(this.folder, '$DIR/c20'),
      )[0]?.lines.slice() ?? []
    )
  }
}

export function readRecording(path: string): string {
  return readFileSync(join(RECORDINGS, path), 'utf8')
}

/** Splits a log at recorded events. Times and PIDs are removed, and delays other than 0 become `N`. */
export function readLog(text: string): LogStep[] {
  const steps: { event: string | undefined; lines: string[] }[] = [{ event: undefined, lines: [] }]
  for (const line of text.split('\n').map((raw) => raw.replace(/^\s*\d+\.\d+ /, ''))) {
    if (line.startsWith('### ')) {
      if (!line.startsWith('### children')) steps.push({ event: line.slice(4), lines: [] })
    } else if (line !== '' && !isOutput(line)) {
      steps.at(-1)?.lines.push(
        line
          .replace(/^Time="[\d.]+" /, '')
          .replace(/ \(\d+\) for /, ' (PID) for ')
          .replace(/(Process|Killing process) \d+/, '$1 PID')
          .replace(/in [1-9]\d* seconds/, 'in N seconds'),
      )
    }
  }
  return steps
}

/** Whether a server printed the line about its cluster. */
function isOutput(line: string): boolean {
  return /FDBD (?:has not )?joined|Check configuration and availability/.test(line)
}
