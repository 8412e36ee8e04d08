import { describe, expect, it } from 'vitest'

import {
  anyJson,
  bytes,
  defineKind,
  embedded,
  int64,
  list,
  mapOf,
  oneOf,
  openApiSchema,
  path,
  record,
  required,
  text,
  timestamp,
} from '../../../../workflows/kit/index.ts'

const definition = {
  group: 'example.test',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  singular: 'widget',
  shortNames: [],
  statusSubresource: true,
  printerColumns: [],
  description: 'A Widget.',
  schema: {
    spec: required(
      record('What.', {
        name: required(text('Name.')),
        mode: oneOf('Mode.', ['fast', 'slow']),
        body: bytes('Body.'),
        config: embedded('Config.'),
        labels: mapOf('Labels.', text('Label.')),
        parts: list('Parts.', record('Part.', { size: int64('Size.'), extra: anyJson('Extra.') })),
        at: timestamp('When.'),
      }),
    ),
  },
  projection: [path('spec.mode')],
  workerVerbs: [],
} as const

describe('a kind', () => {
  const kind = defineKind(definition)

  it('has an apiVersion, and no hashed paths by default', () => {
    expect(kind).toMatchObject({ apiVersion: 'example.test/v1', hashed: [] })
  })

  it('yields a structural schema with a description on every field', () => {
    expect(openApiSchema(kind)).toEqual({
      description: 'A Widget.',
      type: 'object',
      required: ['spec'],
      properties: {
        apiVersion: { description: 'Group and version of this representation of the object.', type: 'string' },
        kind: { description: 'The kind of this object.', type: 'string' },
        metadata: { type: 'object' },
        spec: {
          description: 'What.',
          type: 'object',
          required: ['name'],
          properties: {
            name: { description: 'Name.', type: 'string' },
            mode: { description: 'Mode.', type: 'string', enum: ['fast', 'slow'] },
            body: { description: 'Body.', type: 'string', format: 'byte' },
            config: {
              description: 'Config.',
              type: 'object',
              'x-kubernetes-embedded-resource': true,
              'x-kubernetes-preserve-unknown-fields': true,
            },
            labels: {
              description: 'Labels.',
              type: 'object',
              additionalProperties: { description: 'Label.', type: 'string' },
            },
            parts: {
              description: 'Parts.',
              type: 'array',
              items: {
                description: 'Part.',
                type: 'object',
                properties: {
                  size: { description: 'Size.', type: 'integer', format: 'int64' },
                  extra: { description: 'Extra.', 'x-kubernetes-preserve-unknown-fields': true },
                },
              },
            },
            at: { description: 'When.', type: 'string', format: 'date-time' },
          },
        },
      },
    })
  })

  it.each([
    [[path('spec.moed')], 'projects spec.moed'],
    [[path('status')], 'projects status'],
    [[path('spec.labels.x')], 'projects spec.labels.x'],
  ])('rejects a projected path outside of its schema (%j)', (projection, message) => {
    expect(() => defineKind({ ...definition, projection })).toThrow(message)
  })

  it('rejects a hashed path outside of its schema', () => {
    expect(() => defineKind({ ...definition, hashed: [path('data')] })).toThrow('kind Widget projects data')
  })
})

describe('a field', () => {
  it('must have a description', () => {
    expect(() => text(' ')).toThrow('a field has no description')
  })
})
