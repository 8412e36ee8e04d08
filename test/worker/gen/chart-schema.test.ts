import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

import { chartSchema } from '../../../worker/gen/chart-schema.ts'
import { WINGS } from '../../../worker/server/registry.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

async function wingsIn(names: readonly string[]): Promise<unknown> {
  const [text = ''] = (await chartSchema(ROOT, names)).values()
  const schema = JSON.parse(text) as { properties: { wings: { items: { enum: unknown } } } }
  return schema.properties.wings.items.enum
}

describe('the generated schema of the chart', () => {
  it('has the names of all wings in order, also of a new one', async () => {
    expect(await wingsIn(WINGS)).toEqual(WINGS)
    expect(await wingsIn(['zoo', ...WINGS])).toEqual([...WINGS, 'zoo'])
  })

  it('is not written in a folder without the chart', async () => {
    expect(await chartSchema('/nowhere', WINGS)).toEqual(new Map())
  })
})
