// Tests every field of every kind with valid and invalid values: the API server accepts the valid values, and refuses
// the invalid values with a message that names the field. test/e2e/fuzz-fields.test.ts tests how Pawl handles the
// accepted values.

import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'

import { createKubeClient, type KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { KubeError } from '../../activities/kube/errors.ts'
import { readKindFolders } from '../../worker/server/kind-folders.ts'
import { enabledWings } from '../../worker/server/wings.ts'
import { type JsonValue, type Kind, openApiSchema } from '../../workflows/kit/index.ts'
import { forEach, holds } from '../support/fuzz/course.ts'
import { isLong } from '../support/matrix/form.ts'
import { invalidValue } from '../support/fuzz/invalid-values.ts'
import {
  type FieldPath,
  fieldsOf,
  type JsonObject,
  leanValue,
  pathText,
  type SchemaField,
  withValue,
} from '../support/fuzz/schema-fields.ts'
import { requiredValue, validValue } from '../support/fuzz/valid-values.ts'

const NAMESPACE = 'fuzz-schema'
const RUNS = isLong ? 60 : 1
// With more fields at once, a field would be slow only because its requests wait for those of other fields.
const AT_ONCE = 4

const kube = createKubeClient({ kubeconfigPath: inject('servers').kubeconfigPath, userAgent: 'test' })
const folders = await readKindFolders(fileURLToPath(new URL('../..', import.meta.url)))
// Only the default wings. The kinds of other wings have many rules about several fields, which a random value of one
// field breaks; chaos-crds.test.ts tests them case by case.
const usual = enabledWings(undefined)
const kinds = folders
  .filter(({ folder }) => usual.includes(folder.split('/')[0] ?? ''))
  .flatMap((folder) => folder.kinds)
  .map((kind) => [kind.kind, kind] as const)

beforeAll(async () => {
  await kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name: NAMESPACE } } })
})
afterAll(() => kube.close())

/** For each kind with a status subresource, the metadata of an existing object. */
const lean = new Map<string, object>()

/** Sends an object with this value as a dry run. @returns the object that the API server would store, or its error. */
async function sent(kind: Kind, at: FieldPath, value: JsonValue): Promise<{ stored?: JsonObject; refusal?: string }> {
  const object = withValue(openApiSchema(kind), undefined, at, value) as JsonObject
  const { apiVersion, kind: name, plural } = kind
  // The API server ignores the status in a POST, so the test sends a PUT to the status subresource.
  const isStatus = kind.statusSubresource && at[0] === 'status'
  const path = resourcePath(
    { apiVersion, plural },
    NAMESPACE,
    isStatus ? 'lean' : undefined,
    isStatus ? 'status' : undefined,
  )
  const metadata = isStatus ? lean.get(name) : { name: 'fuzzed' }
  const body = { ...object, apiVersion, kind: name, metadata }
  try {
    const query = { dryRun: 'All', fieldValidation: 'Strict' }
    return { stored: await kube.request<JsonObject>(isStatus ? 'PUT' : 'POST', path, { body, query }) }
  } catch (error) {
    if (error instanceof KubeError && (error.status === 422 || error.status === 400)) return { refusal: error.message }
    throw error
  }
}

describe.each(kinds)('the fields of the kind %s', (name, kind) => {
  const schema = openApiSchema(kind)
  // The API server itself defines apiVersion, kind and metadata, not the schema of the kind.
  const fields = fieldsOf(schema).filter(({ at: [top] }) => !['apiVersion', 'kind', 'metadata'].includes(top ?? ''))
  const spec = (leanValue(schema) as JsonObject)['spec']

  beforeAll(async () => {
    if (!kind.statusSubresource) return
    const { apiVersion, plural } = kind
    const body = { apiVersion, kind: name, metadata: { name: 'lean' }, ...(spec !== undefined && { spec }) }
    const { metadata } = await kube.request<KubeObject>('POST', resourcePath({ apiVersion, plural }, NAMESPACE), {
      body,
    })
    lean.set(name, metadata)
  })

  it(`are taken with what their schema takes, ${RUNS} of each`, async () => {
    expect(fields.length).toBeGreaterThan(0)
    await forEach(fields, AT_ONCE, async ({ at, taken, isRequired }, lane) => {
      const isTaken = async (value: JsonValue) => {
        const { refusal: said } = await sent(kind, at, value)
        if (said !== undefined) throw new Error(`${name} ${pathText(at)}: refused ${JSON.stringify(value)}: ${said}`)
      }
      const values = (isRequired ? requiredValue : validValue)(taken, { isServer: true })
      await holds({ name: `taken-${name}-${pathText(at)}`, values, runs: RUNS, lane }, isTaken)
    })
  })

  it(`are refused with what their schema does not take, ${RUNS} of each, and named`, async () => {
    await forEach(fields, AT_ONCE, async ({ at, schema: field }, lane) => {
      const values = invalidValue(field, kind.statusSubresource && at[0] === 'status')
      if (values === undefined) return
      const tried = { name: `refused-${name}-${pathText(at)}`, values, runs: RUNS, lane }
      await holds(tried, async ({ value, below, why }) => {
        const { refusal: said } = await sent(kind, at, value)
        const place = pathText([...at, ...below])
        if (said?.includes(place) !== true)
          throw new Error(`${name} ${place} ${why}: ${JSON.stringify(value)}: ${said ?? 'was taken'}`)
      })
    })
  })

  it('are stored as if they were left out where they are null and need not be there', async () => {
    const isNeeded = ({ at, isRequired }: SchemaField) => at.at(-1) === '[]' || at.at(-1) === '*' || isRequired
    const optional = fields.filter((one) => !isNeeded(one) && one.schema.type !== undefined)
    await forEach(optional, AT_ONCE, async ({ at }) => {
      const { stored, refusal } = await sent(kind, at, null)
      if (refusal !== undefined || JSON.stringify(stored).includes('null'))
        throw new Error(`${name} ${pathText(at)}: ${refusal ?? JSON.stringify(stored)}`)
    })
  })
})
