// The data directory of a simulated fdbserver: its ID, its keys, and the state of a coordinator.

import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { CoordinatedState, Mutation } from '../core/state.ts'
import { applyMutation } from '../core/transactions.ts'

export class DataDirectory {
  private readonly path: string
  readonly processId: string

  constructor(path: string, newId: string) {
    mkdirSync(path, { recursive: true })
    this.path = path
    const file = join(path, 'processId')
    if (!existsSync(file)) replaceFile(file, newId)
    this.processId = readFileSync(file, 'utf8')
  }

  /** Reads all keys, and writes the file again without superseded lines. */
  loadKeys(): [string, string][] {
    const store = new Map<string, string>()
    const file = join(this.path, 'storage.jsonl')
    if (!existsSync(file)) return []
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
    for (const line of lines) for (const mutation of JSON.parse(line) as Mutation[]) applyMutation(store, mutation)
    const pairs = [...store].map(([key, value]): Mutation => ({ type: 'set', key, value }))
    replaceFile(file, pairs.length === 0 ? '' : `${JSON.stringify(pairs)}\n`)
    return [...store]
  }

  /** Returns when the operating system has the data: it survives the end of the process. */
  append(mutations: readonly Mutation[]): void {
    appendFileSync(join(this.path, 'storage.jsonl'), `${JSON.stringify(mutations)}\n`)
  }

  loadState(): CoordinatedState | undefined {
    const file = join(this.path, 'coordination.json')
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as CoordinatedState) : undefined
  }

  saveState(state: CoordinatedState): void {
    replaceFile(join(this.path, 'coordination.json'), JSON.stringify(state))
  }

  /** Connection strings of clusters that this process coordinated before, by key. */
  loadMoved(): Record<string, string> {
    const file = join(this.path, 'moved.json')
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>) : {}
  }

  saveMoved(moved: Readonly<Record<string, string>>): void {
    replaceFile(join(this.path, 'moved.json'), JSON.stringify(moved))
  }
}

/** Writes a file so that a crash leaves the old or the new content. */
export function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.tmp`, text)
  renameSync(`${path}.tmp`, path)
}
