// Tests the pages of kinds: one row per field, with type, default, limits and rules; repeated structures are listed once.

import { describe, expect, it } from 'vitest'

import { kindPages } from '../../../worker/gen/kind-pages.ts'
import { defineKind, integer, list, mapOf, oneOf, record, required, text } from '../../../workflows/kit/index.ts'

const place = { street: required(text('The street.')), town: text('The town.'), zip: text('The code.') }
const spec = {
  size: integer('The size.', { default: 2, minimum: 1, maximum: 9 }),
  mode: oneOf('The mode.', ['Fast', 'Safe']),
  tags: list('The tags.', text('A tag.', { maxLength: 5 }), { maxItems: 3 }),
  parts: mapOf('The parts.', record('A part.', { weight: integer('The weight.') })),
  sender: record('The sender.', place),
  receiver: required(record('The receiver.', place)),
}
const common = {
  group: 'example.com',
  version: 'v1',
  shortNames: [],
  statusSubresource: true,
  printerColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }],
  projection: [],
  workerVerbs: [],
} as const

const parcel = defineKind({
  ...common,
  kind: 'Parcel',
  plural: 'parcels',
  singular: 'parcel',
  description: 'A Parcel is sent.',
  schema: {
    spec: required(
      record('The order.', spec, {
        rules: [{ rule: "self.mode != 'Safe' || self.size < 5", message: 'Safe needs a size below 5' }],
      }),
    ),
  },
})
const parcelCron = defineKind({
  ...common,
  kind: 'ParcelCron',
  plural: 'parcelcrons',
  singular: 'parcelcron',
  description: 'A ParcelCron sends Parcels.',
  schema: { spec: required(record('The schedule.', { template: required(record('Each Parcel.', spec)) })) },
})

describe('the page of a kind', () => {
  const pages = kindPages([parcel, parcelCron])
  const page = pages.get('docs/reference/kinds/parcel.md') ?? ''

  it('has each field with type, default and limits', () => {
    for (const row of [
      '| `spec.size` | integer | `2` | The size. 1 to 9. |',
      '| `spec.mode` | string |  | The mode. One of `Fast`, `Safe`. |',
      '| `spec.tags` | string[] |  | The tags. At most 3 items. Each: at most 5 characters. |',
      '| `spec.parts` | map of object |  | The parts. |',
      '| `spec.parts.<key>.weight` | integer |  | The weight. |',
      '| `spec.sender.street` | string | required | The street. |',
    ])
      expect(page).toContain(`${row}\n`)
  })

  it('has the rules, and refers to structures that are listed before', () => {
    expect(page).toContain('\nThe order.\n\nRules:\n\n- Safe needs a size below 5\n')
    expect(page).toContain('| `spec.receiver` | object | required | The receiver. Its fields: as in `spec.sender`. |\n')
    expect(page).not.toContain('`spec.receiver.street`')
  })

  it('refers to the spec of another kind', () => {
    expect(pages.get('docs/reference/kinds/parcel-cron.md')).toContain(
      '| `spec.template` | object | required | Each Parcel. Its fields: as in [the spec of Parcel](parcel.md#spec). |\n',
    )
  })

  it('is in the index', () => {
    expect(pages.get('docs/reference/kinds/README.md')).toContain(
      '| [ParcelCron](parcel-cron.md) | `example.com/v1` | A ParcelCron sends Parcels. |\n',
    )
  })
})
