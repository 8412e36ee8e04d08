// Compares Pawl's CustomResourceDefinitions with Landscaper's, field by field. Pawl's must accept each object that
// Landscaper's accept, so that existing objects stay editable after the change of controllers. The webhook and the jobs
// report the mistakes in such objects (docs/adr/0068-schemas-as-landscaper-has-them.md).

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

import { type Definition, schemaLines } from '../../support/reference-schema/schema-lines.ts'

const ROOT = join(import.meta.dirname, '../../..')
const PAWLS = join(ROOT, 'deploy/crds/landscaper')
const LANDSCAPERS = join(ROOT, 'test/support/reference-schema/landscaper-fields.txt')

/** A pattern of fields whose schemas differ, with both schemas; undefined: the field is missing. */
interface Difference {
  readonly fields: RegExp
  readonly landscaper: string | undefined
  readonly pawl: string | undefined
  readonly reason: string
}

const INT32 = '{"format":"int32","type":"integer"}'
const TEXT = '{"type":"string"}'
const REQUIRED_TEXT = '{"required":true,"type":"string"}'
const MAP = '{"type":"object"}'

const DIFFERENCES: readonly Difference[] = [
  {
    fields: /^Context\.(ocmConfig|registryPullSecrets\[\])$/,
    landscaper: '{"type":"object","x-kubernetes-map-type":"atomic"}',
    pawl: MAP,
    reason:
      'says who owns the fields after a server-side apply; Pawl applies no Contexts, and the accepted values are the same',
  },
  {
    fields: /^Context\.(ocmConfig|registryPullSecrets\[\])\.name$/,
    landscaper: '{"default":"","type":"string"}',
    pawl: TEXT,
    reason: 'Pawl treats a missing name like an empty one, so it needs no default',
  },
  {
    fields: /^DeployItem\.spec\.type$/,
    landscaper: REQUIRED_TEXT,
    pawl: `{"required":true,"type":"string","x-kubernetes-validations":[{"message":"the type cannot be changed; give the item another name","rule":"self == oldSelf"}]}`,
    reason:
      "the rule concerns changes only, and Landscaper's webhook refuses them too: another deployer would not remove what the first one deployed",
  },
  {
    fields: /^(Installation|DeployItem)\.status\.observedGeneration$/,
    landscaper: '{"format":"int64","required":true,"type":"integer"}',
    pawl: '{"format":"int64","type":"integer"}',
    reason: 'Pawl accepts more: a merge patch by another client that only hands out a job ID has no generation',
  },
  {
    fields: /\.numberOfReconciles$/,
    landscaper: INT32,
    pawl: '{"type":"integer"}',
    reason: 'Pawl accepts more: larger numbers mean the same as no limit',
  },
  {
    fields: /^(Installation|Execution|DeployItem)\.status\.conditions\[\]\.observedGeneration$/,
    landscaper: undefined,
    pawl: '{"format":"int64","type":"integer"}',
    reason: "Pawl writes the generation that a condition is about; Landscaper's conditions have none",
  },
  {
    fields: /^(Installation|Execution)\.status\.paused$/,
    landscaper: undefined,
    pawl: MAP,
    reason: 'Pawl can pause objects and writes who did it',
  },
  {
    fields: /^(Installation|Execution)\.status\.paused\.(by|reason)$/,
    landscaper: undefined,
    pawl: REQUIRED_TEXT,
    reason: 'part of status.paused',
  },
  {
    fields: /^(Installation|Execution)\.status\.paused\.since$/,
    landscaper: undefined,
    pawl: '{"format":"date-time","type":"string"}',
    reason: 'part of status.paused',
  },
]

async function pawlsFields(): Promise<ReadonlyMap<string, string>> {
  const files = (await readdir(PAWLS)).filter((name) => name.endsWith('.yaml'))
  const texts = await Promise.all(files.map((name) => readFile(join(PAWLS, name), 'utf8')))
  return new Map(texts.flatMap((text) => [...schemaLines(parse(text) as Definition)]))
}

async function landscapersFields(): Promise<ReadonlyMap<string, string>> {
  const lines = (await readFile(LANDSCAPERS, 'utf8')).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(' {')), line.slice(line.indexOf(' {') + 1)]))
}

const [pawls, landscapers] = [await pawlsFields(), await landscapersFields()]
const different = [...new Set([...landscapers.keys(), ...pawls.keys()])]
  .filter((at) => landscapers.get(at) !== pawls.get(at))
  .map((at) => ({ at, landscaper: landscapers.get(at), pawl: pawls.get(at) }))

const isListed = (one: (typeof different)[number], { fields, landscaper, pawl }: Difference): boolean =>
  fields.test(one.at) && one.landscaper === landscaper && one.pawl === pawl

describe("Pawl's CustomResourceDefinitions compared with those of Landscaper 0.127.0", () => {
  it('have all kinds and fields of Landscaper', () => {
    expect(landscapers.size).toBeGreaterThan(300)
    expect([...landscapers.keys()].filter((at) => !pawls.has(at))).toEqual([])
  })

  it('differ in the listed fields only', () => {
    expect(different.filter((one) => !DIFFERENCES.some((listed) => isListed(one, listed)))).toEqual([])
  })

  it.each(DIFFERENCES)('differ in $fields, because $reason', (listed) => {
    expect(different.some((one) => isListed(one, listed))).toBe(true)
  })
})
