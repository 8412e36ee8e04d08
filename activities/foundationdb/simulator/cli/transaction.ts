// A transaction of fdbcli: reads see its own writes, which are sent by `commit`.

import { keyAfter } from '../core/byte-string.ts'
import type { Mutation } from '../core/state.ts'
import { applyMutation, type KeyRange, type ReadOptions } from '../core/transactions.ts'
import type { Client } from './gateway.ts'

export class Transaction {
  private readonly mutations: Mutation[] = []
  private readonly reads: KeyRange[] = []
  private readVersion: number | undefined
  private readonly client: Client

  constructor(client: Client) {
    this.client = client
  }

  set(key: string, value: string): void {
    this.mutations.push({ type: 'set', key, value })
  }

  clear(begin: string, end: string): void {
    this.mutations.push({ type: 'clear', begin, end })
  }

  async get(key: string, options: ReadOptions): Promise<string | undefined> {
    const own = this.mutations.findLast((mutation) =>
      mutation.type === 'set' ? mutation.key === key : mutation.begin <= key && key < mutation.end,
    )
    if (own !== undefined) return own.type === 'set' ? own.value : undefined
    const rows = await this.read(key, keyAfter(key), 1, options)
    return rows[0]?.[1]
  }

  /** `limit` 0: no limit. */
  async range(begin: string, end: string, limit: number, options: ReadOptions): Promise<[string, string][]> {
    if (this.mutations.length === 0) return await this.read(begin, end, limit, options)
    const rows = new Map(await this.read(begin, end, 0, options))
    for (const mutation of this.mutations) applyMutation(rows, mutation)
    const inside = [...rows].filter(([key]) => key >= begin && key < end).sort(([a], [b]) => (a < b ? -1 : 1))
    return limit === 0 ? inside : inside.slice(0, limit)
  }

  private async read(begin: string, end: string, limit: number, options: ReadOptions): Promise<[string, string][]> {
    this.readVersion ??= await this.client.request('readVersion', options)
    const rows = await this.client.request('range', { begin, end, limit, ...options })
    this.reads.push([begin, end])
    return rows.map(([key, value]) => [key, value])
  }

  /** @returns the version of the commit. */
  async commit(options: ReadOptions): Promise<number> {
    return await this.client.request('commit', {
      ...(this.readVersion !== undefined && { readVersion: this.readVersion }),
      reads: this.reads,
      mutations: this.mutations,
      ...options,
    })
  }
}
