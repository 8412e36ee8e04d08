// What the injector's children have in common: they join the target's control groups, say that they are at work, and end with the injector.

import { writeFile } from 'node:fs/promises'
import { kill } from 'node:process'

import { absolutePath, type Flags } from '../../../../workflows/chaos/injector/flags.ts'
import { whole } from '../../../../workflows/chaos/grammar.ts'

export interface ChildFlags {
  readonly joins: readonly string[]
  readonly parentPid: number
}

const MOST_PIDS = 2 ** 22

export function childFlags(flags: Flags): ChildFlags {
  return {
    joins: flags.every('join', absolutePath),
    parentPid: flags.required('parent-pid', whole(1, MOST_PIDS), 1),
  }
}

/** Before threads are started and memory is taken: what follows is the group's. */
export async function joinGroups({ joins }: ChildFlags): Promise<void> {
  for (const file of joins) await writeFile(file, String(process.pid))
}

// Source: spec/chaos.md 3.4 (6), "exit when the parent PID vanishes (checked each second)".
const LOOK_MS = 1000

/** Resolves when the injector has ended: its end of our standard input is closed, or its number is nobody's. */
export async function parentEnded({ parentPid }: ChildFlags): Promise<void> {
  await new Promise<void>((resolve) => {
    const look = setInterval(() => {
      if (!isThere(parentPid)) resolve()
    }, LOOK_MS)
    look.unref()
    process.stdin
      .on('end', resolve)
      .on('error', () => resolve())
      .resume()
  })
}

function isThere(pid: number): boolean {
  try {
    return kill(pid, 0)
  } catch {
    return false
  }
}
