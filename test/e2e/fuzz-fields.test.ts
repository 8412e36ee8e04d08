// Tests each field of Pawl's kinds with strange values that the API server accepts: each job ends, and a failed job
// names the field. Jobs also repair a status that a user wrote. test/env/fuzz-schema.test.ts tests the values that the
// API server refuses. Source: spec/engine.md 4.3, A1 and A7.

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { type JsonSchema, type JsonValue, type Kind, openApiSchema } from '../../workflows/kit/index.ts'
import { componentVersionOverwritesKind } from '../../workflows/landscaper/component-version-overwrites/kind.ts'
import { contextKind } from '../../workflows/landscaper/context/kind.ts'
import { dataObjectKind } from '../../workflows/landscaper/data-object/kind.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { targetKind } from '../../workflows/landscaper/target/kind.ts'
import { API, type LsObject } from '../support/cluster/cluster.ts'
import { forEach, holds } from '../support/fuzz/course.ts'
import { isLong } from '../support/matrix/form.ts'
import { BASES, PLANTED, plant, plantedComponents } from '../support/fuzz/bases.ts'
import { expectLocated } from '../support/fuzz/located.ts'
import { describeSoundness } from '../support/fuzz/soundness.ts'
import { fieldsOf, type FieldPath, type JsonObject, pathText, withValue } from '../support/fuzz/schema-fields.ts'
import { requiredValue, validValue } from '../support/fuzz/valid-values.ts'
import { createTarget } from '../support/landscaper/manifests.ts'
import { sampleOf } from '../support/matrix/form.ts'
import { useStage } from '../support/pawl/stage.ts'

const RUNS = isLong ? 25 : 1
const AT_ONCE = 10
const LIMIT_MS = isLong ? 3_600_000 : 360_000
const JOB_MS = 90_000

const NAMESPACE = 'fuzz-fields'
const components = plantedComponents()
afterAll(() => components.remove())
const workerFlags = ['--pickup-timeout', '3s', '--registry-local', components.folder]
const stage = useStage(NAMESPACE, () => Promise.resolve({ workerFlags }))
beforeAll(async () => {
  await createTarget(stage.cluster)
  await plant(stage.cluster)
})

let count = 0

/** Creates an object with this value and waits until its job has ended. @returns the object that has the job. */
async function answer(kind: Kind, at: FieldPath, value: JsonValue): Promise<LsObject> {
  const { cluster } = stage
  const name = `${kind.singular}-${++count}`
  const { spec, run } = BASES[kind.kind as keyof typeof BASES]
  const fuzzed = withValue(writtenBy(kind), spec(name), at, value) as JsonObject
  const written = hasSpec(kind) ? { spec: fuzzed } : fuzzed
  await cluster.create({ apiVersion: API, kind: kind.kind, metadata: { name }, ...written }, kind.plural)
  const [plural, subject] = await run(cluster, name)
  return await cluster.waitUntilFinished(subject, undefined, plural, JOB_MS)
}

const hasSpec = ({ schema }: Kind) => Object.hasOwn(schema, 'spec')

/** The schema of the fields that users write: the spec, or all fields except the metadata if there is no spec. */
function writtenBy(kind: Kind): JsonSchema {
  const { properties = {}, required = [] } = openApiSchema(kind)
  if (hasSpec(kind)) return properties['spec'] as JsonSchema
  const own = Object.entries(properties).filter(([name]) => Object.hasOwn(kind.schema, name))
  return { type: 'object', properties: Object.fromEntries(own), required }
}

describe.concurrent('a job over an object with a strange value', () => {
  const kinds: readonly Kind[] = [
    ...[installationKind, executionKind, deployItemKind, targetKind],
    ...[contextKind, dataObjectKind, componentVersionOverwritesKind],
  ]

  const sample = sampleOf('kinds with strange values in each field', kinds, 3)
  it.each(sample.map((kind) => [kind.kind, kind] as const))(
    'ends for each field of the kind %s, and names the field when it fails',
    async (_, kind) => {
      // The job of a standalone DeployItem with a type that no deployer handles never ends, because only an Execution
      // has a pickup timeout. The case of the kind Execution tests such types.
      const isAwaited = ({ at }: { readonly at: FieldPath }) => kind.kind !== 'DeployItem' || at.join() !== 'type'
      await forEach(fieldsOf(writtenBy(kind)).filter(isAwaited), AT_ONCE, async ({ at, taken, isRequired }, lane) => {
        const tried = {
          name: `answer-${kind.kind}-${pathText(at)}`,
          values: (isRequired ? requiredValue : validValue)(taken, { isServer: true }),
          runs: RUNS,
          lane,
        }
        await holds(tried, async (value) => {
          expectLocated(await answer(kind, at, value), at, value)
        })
      })
    },
    LIMIT_MS,
  )
})

describe.concurrent('an object whose status a user has written', () => {
  const kinds: readonly Kind[] = [installationKind, executionKind, deployItemKind]

  const sample = sampleOf('kinds with a status written by hand', kinds, 1)
  it.each(sample.map((kind) => [kind.kind, kind] as const))(
    'is repaired by the next jobs: %s',
    async (_, { kind, plural, singular, schema }) => {
      const { cluster } = stage
      const lanes = Array.from({ length: 3 }, (_, lane) => lane)
      await forEach(lanes, AT_ONCE, async (lane) => {
        const status = schema['status']?.schema as JsonSchema
        const tried = {
          name: `status-${kind}`,
          values: validValue(status, { isServer: true }),
          runs: isLong ? 40 : 1,
          lane,
        }
        await holds(tried, async (value) => {
          const name = `${singular}-by-hand-${++count}`
          const { spec, run } = BASES[kind as keyof typeof BASES]
          await cluster.create({ apiVersion: API, kind, metadata: { name }, spec: spec(name) }, plural)
          await run(cluster, name)
          const { status: first } = await cluster.waitUntilFinished(name, undefined, plural, JOB_MS)
          expect(first).toMatchObject({ phase: 'Succeeded' })
          await cluster.patch(plural, name, { status: value }, 'status')
          // The written status may itself start a job, even in an unknown phase. This job ends with any result.
          await run(cluster, name, randomUUID())
          await cluster.waitUntilFinished(name, undefined, plural, JOB_MS)
          await run(cluster, name, randomUUID())
          const isWell = (object?: LsObject) =>
            object?.status?.phase === 'Succeeded' &&
            object.status.jobID === object.status.jobIDFinished &&
            object.status.lastError === undefined
          const last = await cluster.waitUntil(plural, name, isWell, JOB_MS)
          expect(last.status?.observedGeneration).toBe(last.metadata.generation)
        })
      })
    },
    LIMIT_MS,
  )
})

describeSoundness(stage, PLANTED, LIMIT_MS)
