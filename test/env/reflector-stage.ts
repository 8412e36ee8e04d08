// Reflectors of tasks on a server that speaks the watch protocol as badly as the test says, with a real PostgreSQL.

import { pino } from 'pino'
import { afterEach, beforeEach, expect, vi } from 'vitest'
import type { KubeObject } from '../../activities/kube/client.ts'
import { createReflector, type Reflector } from '../../worker/bridge/reflector.ts'
import { type ReflectorSettings, DEFAULT_REFLECTOR_SETTINGS } from '../../worker/bridge/settings.ts'
import { routeToSelf, rules, task, taskKind } from '../activities/journal/build-events.ts'
import { useJournal } from '../activities/journal/use-journal.ts'
import { type BadServer, type Connection, startBadServer } from '../worker/bridge/bad-server.ts'

const QUICK: ReflectorSettings = {
  ...DEFAULT_REFLECTOR_SETTINGS,
  leaseMs: 600,
  watchdogMs: 60_000,
  backoffMs: { first: 5, longest: 50 },
  batchLimit: 3,
  pendingLimit: 5,
  pageLimit: 2,
}

export const event = (uid: string, version: number): KubeObject => task({ uid, version, generation: version })

/** Waits until the check no longer throws. */
export const eventually = async (check: () => Promise<void>): Promise<void> => {
  await vi.waitFor(check, { timeout: 30_000, interval: 10 })
}

/** Server, journal and reflectors are new for each test of the calling file. */
export function useReflectorStage(databaseUrl: string) {
  const journal = useJournal(databaseUrl)
  let server: BadServer
  let stopping: AbortController
  let runs: Promise<void>[]
  const lines: string[] = []

  beforeEach(async () => {
    server = await startBadServer()
    stopping = new AbortController()
    runs = []
    lines.length = 0
  })
  afterEach(async () => {
    await stop()
    await server.close()
  })

  function start(
    settings: Partial<ReflectorSettings> = {},
    owner = 'one',
    signal = stopping.signal,
    namespace?: string,
  ): Reflector {
    const reflector = createReflector(taskKind, {
      cluster: 'c',
      kube: server.kube,
      db: journal.db,
      journal: { route: routeToSelf, ...rules, contentKey: undefined, now: () => new Date() },
      owner,
      namespace,
      settings: { ...QUICK, ...settings },
      log: pino({ level: 'warn' }, { write: (line) => lines.push(line) }),
      random: () => 0.5,
    })
    runs.push(reflector.run(signal))
    return reflector
  }

  async function stop(): Promise<void> {
    stopping.abort()
    await Promise.all(runs)
    runs = []
    stopping = new AbortController()
  }

  /** One line an event, in the order of the journal. */
  async function journaled(): Promise<string[]> {
    const rows = await journal.db.selectFrom('watch_event').selectAll().orderBy('seq').execute()
    return rows.map(
      ({ source, type, uid, resource_version, outcome }) => `${source} ${type} ${uid} ${resource_version} ${outcome}`,
    )
  }

  async function checkpoint(): Promise<number | null | undefined> {
    return (await journal.db.selectFrom('watch_checkpoint').selectAll().executeTakeFirst())?.resource_version
  }

  /** Waits until the checkpoint is at the version. */
  async function upTo(version: number): Promise<void> {
    await eventually(async () => expect(await checkpoint()).toBe(version))
  }

  /** The next watch, after it has delivered one new object for each uid, from version 101. */
  async function watchWith(...uids: readonly string[]): Promise<Connection> {
    const watch = await server.nextWatch()
    for (const [index, uid] of uids.entries()) watch.send('ADDED', event(uid, 101 + index))
    await upTo(100 + uids.length)
    return watch
  }

  return {
    get db() {
      return journal.db
    },
    get url() {
      return journal.url
    },
    get server() {
      return server
    },
    /** The warnings and errors in the log. */
    messages: () => lines.map((line) => (JSON.parse(line) as { readonly msg: string }).msg),
    /** They, with their keys. */
    warnings: () => lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>),
    start,
    stop,
    journaled,
    checkpoint,
    upTo,
    watchWith,
  }
}
