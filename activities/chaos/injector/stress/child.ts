// Common parts of the injector's child processes: they join the target's control groups, report readiness, and end with
// the injector.

import { writeFile } from 'node:fs/promises'
import { kill } from 'node:process'

import { absolutePath, type Flags } from '../../../../workflows/chaos/injector/flags.ts'
import { integerIn } from '../../../../workflows/chaos/grammar.ts'

export interface ChildFlags {
  readonly joins: readonly string[]
  readonly parentPid: number
}

const MAX_PID = 2 ** 22

export function childFlags(flags: Flags): ChildFlags {
  return {
    joins: flags.every('join', absolutePath),
    parentPid: flags.required('parent-pid', integerIn(1, MAX_PID), 1),
  }
}

/** Call this before starting threads and allocating memory, so that the group accounts for them. */
export async function joinGroups({ joins }: ChildFlags): Promise<void> {
  for (const file of joins) await writeFile(file, String(process.pid))
}

// Source: spec/chaos.md 3.4 (6), "exit when the parent PID vanishes (checked each second)".
const CHECK_MS = 1000

/** Resolves when the injector has ended: standard input is closed, or no process has its PID. */
export async function parentEnded({ parentPid }: ChildFlags): Promise<void> {
  await new Promise<void>((resolve) => {
    const look = setInterval(() => {
      if (!exists(parentPid)) resolve()
    }, CHECK_MS)
    look.unref()
    process.stdin
      .on('end', resolve)
      .on('error', () => resolve())
      .resume()
  })
}

function exists(pid: number): boolean {
  try {
    return kill(pid, 0)
  } catch {
    return false
  }
}
