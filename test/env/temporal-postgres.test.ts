// A Temporal server on PostgreSQL. Its binaries are in the cache after `npm test` or `pawl dev fetch --temporal-store postgres`.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { Client, Connection } from '@temporalio/client'
import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from '@temporalio/common'
import { describe, expect, inject, it, onTestFinished } from 'vitest'

import { readConfig, SEARCH_ATTRIBUTES } from '../../worker/server/config.ts'
import { findCached } from '../../worker/dev/cache.ts'
import type { Part } from '../../worker/dev/part.ts'
import { readPins } from '../../worker/dev/pins.ts'
import { choosePorts } from '../../worker/dev/ports.ts'
import { startTemporalOnPostgres } from '../../worker/dev/temporal-postgres.ts'

const { cacheDir } = readConfig()
const pins = readPins()
const server = await findCached(cacheDir, 'temporal-server', pins['temporal-server'])
const tool = await findCached(cacheDir, 'temporal-sql-tool', pins['temporal-sql-tool'])
const isThere = server !== undefined && tool !== undefined
const reason = isThere ? '' : ` (skipped: not in ${cacheDir}; pawl dev fetch --temporal-store postgres puts it there)`

describe.skipIf(!isThere)(`a Temporal server on PostgreSQL${reason}`, { timeout: 120_000 }, () => {
  it('has the namespace with Pawl’s search attributes, and keeps runs across a restart on other ports', async () => {
    const first = await start()
    const client = await connect(first)
    const typedSearchAttributes = new TypedSearchAttributes([
      ...KEYWORDS.map(attribute),
      { key: TREE, value: ['one', 'two'] },
    ])
    await client.workflow.start('nobody', { workflowId: 'kept', taskQueue: 'none', typedSearchAttributes })
    await first.stop()

    const again = await connect(await start())
    const run = await again.workflow.getHandle('kept').describe()
    expect(run.status.name).toBe('RUNNING')
    expect(KEYWORDS.map((name) => run.typedSearchAttributes.get(attribute(name).key))).toEqual(
      KEYWORDS.map((name) => `${name} of it`),
    )
    expect(run.typedSearchAttributes.get(TREE)).toEqual(['one', 'two'])
  })
})

const KEYWORDS = Object.entries(SEARCH_ATTRIBUTES).flatMap(([name, type]) => (type === 'Keyword' ? [name] : []))
const TREE = defineSearchAttributeKey('PawlTree', SearchAttributeType.KEYWORD_LIST)

function attribute(name: string) {
  return { key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD), value: `${name} of it` }
}

async function start(): Promise<Part> {
  const dir = await mkdtemp(join(tmpdir(), 'pawl-temporal-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const ports = await choosePorts(join(dir, 'ports.json'), {})
  const binaries = { 'temporal-server': server ?? '', 'temporal-sql-tool': tool ?? '' }
  const options = { binaries, dir, logDir: dir, ports, databaseUrl: inject('servers').databaseUrl }
  return startTemporalOnPostgres(options, (part) => onTestFinished(part.stop))
}

async function connect({ spec }: Part): Promise<Client> {
  const connection = await Connection.connect({ address: spec.address ?? '' })
  onTestFinished(() => connection.close())
  return new Client({ connection })
}
