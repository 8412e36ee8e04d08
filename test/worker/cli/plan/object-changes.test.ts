// The field changes that `pawl plan` shows, and how it hides values of Secrets.

import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

import { changesOf, maskSecrets, secretTexts } from '../../../../worker/cli/plan/object-changes.ts'

const PASSWORD = 'correct horse'
const secret = { kind: 'Secret', metadata: { name: 's' }, data: { password: Buffer.from(PASSWORD).toString('base64') } }
/** Ignores the status and the job label, and hides spec.key of a Vault and the values of `secret`. */
const showing = {
  incidental: ['status', 'metadata.labels.example.org/job'],
  concealed: { Vault: ['spec.key'] },
  internal: ['metadata.annotations.example.org/hash'],
  secrets: secretTexts([secret], parse),
}
const object = (spec: unknown, metadata: object = {}, kind = 'Thing') => ({
  kind,
  spec,
  metadata: { name: 'a', ...metadata },
})

describe('the changes of an object', () => {
  it('list each field with its values, without ignored fields and fields that the API server maintains', () => {
    const before = object({ size: 1, list: ['a'] }, { resourceVersion: '1', labels: { 'example.org/job': 'x' } })
    const after = object({ size: 2, list: ['a', 'b'] }, { resourceVersion: '2', labels: { 'example.org/job': 'y' } })
    expect(changesOf({ before, after }, showing)).toEqual([
      { field: 'spec.size', before: '1', after: '2' },
      { field: 'spec.list[1]', before: undefined, after: '"b"' },
    ])
    expect(changesOf({ before, after: { ...before, status: { phase: 'Failed' } } }, showing)).toEqual([])
  })

  it('list each added and removed finalizer, and mark finalizers of Pawl', () => {
    const rules = { ...showing, internal: ['metadata.finalizers.example.org/pawl'] }
    const finalizers = (...names: readonly string[]) => object({}, { finalizers: names })
    const before = finalizers('example.com/old', 'example.com/same')
    const after = finalizers('example.org/pawl', 'example.com/same', 'example.com/new')
    const field = 'metadata.finalizers'
    expect(changesOf({ before, after }, rules)).toEqual([
      { field, before: '"example.com/old"', after: undefined },
      { field, before: undefined, after: '"example.org/pawl"', internal: true },
      { field, before: undefined, after: '"example.com/new"' },
    ])
  })

  it('show the part in which long values differ, and mark fields of Pawl', () => {
    const long = (middle: string) => `${'a'.repeat(300)}${middle}${'z'.repeat(300)}`
    const annotated = (hash: string) => ({ annotations: { 'example.org/hash': hash } })
    const before = object({ text: long('old') }, annotated('1'))
    const after = object({ text: long('newer') }, annotated('2'))
    const cut = (middle: string) => `...${'a'.repeat(40)}${middle}${'z'.repeat(40)}...`
    expect(changesOf({ before, after }, showing)).toEqual([
      { field: 'spec.text', before: cut('old'), after: cut('newer') },
      { field: 'metadata.annotations.example.org/hash', before: '"1"', after: '"2"', internal: true },
    ])
    expect(changesOf({ before: undefined, after }, showing)).toContainEqual({
      field: 'spec.text',
      before: undefined,
      after: `"${'a'.repeat(199)}...`,
    })
  })

  it('have the changed lines of a long text, decoded, with one line of context', () => {
    const text = (size: string) =>
      ['kind: Blueprint', 'imports: []', `size: ${size}`, ...Array<string>(300).fill('x: 1')].join('\n')
    const base64 = (size: string) => Buffer.from(text(size)).toString('base64')
    const changed = { lines: [' imports: []', '-size: 1', '+size: 2', ' x: 1'] }
    const spec = (value: string) => object({ 'blueprint.yaml': value })
    expect(changesOf({ before: spec(text('1')), after: spec(text('2')) }, showing)).toMatchObject([changed])
    expect(changesOf({ before: spec(base64('1')), after: spec(base64('2')) }, showing)).toMatchObject([changed])
    const secret = changesOf({ before: spec(base64('1')), after: spec(base64(PASSWORD)) }, showing)
    expect(secret).toMatchObject([{ lines: [' imports: []', '-size: 1', '+size: ***', ' x: 1'] }])
    // A new text has no difference, and bytes that are no text are not decoded.
    expect(changesOf({ before: undefined, after: spec(text('1')) }, showing)[1]).not.toHaveProperty('lines')
    const bytes = Buffer.from([...Array(40).keys()]).toString('base64')
    expect(changesOf({ before: spec(bytes), after: spec(text('1')) }, showing)[0]?.lines?.[0]).toBe(`-${bytes}`)
  })

  it('show no value of a Secret, in any object', () => {
    // The values of the Secret in other objects, and a Secret inside another object.
    const manifest = { kind: 'Secret', stringData: { other: 'rendered otherwise' } }
    const after = object({ text: `login: ${PASSWORD}`, encoded: Buffer.from(PASSWORD).toString('base64'), manifest })
    const shown = JSON.stringify(changesOf({ before: undefined, after }, showing))
    // Y29ycmVjd is the start of PASSWORD in base64.
    expect(shown).not.toMatch(/correct horse|rendered otherwise|Y29ycmVjd/)
    expect(shown).toContain('login: ***')
    // The fields of the Secret itself, also without a list of secret texts.
    const stored = JSON.stringify(changesOf({ before: undefined, after: secret }, { ...showing, secrets: [] }))
    expect(stored).not.toContain(secret.data.password)
    // A field that the rules hide.
    expect(
      JSON.stringify(changesOf({ before: undefined, after: object({ key: 'k' }, {}, 'Vault') }, showing)),
    ).toContain('***')
  })

  it('mask scalars inside YAML values; those below 4 characters only if they are the whole value', () => {
    const data = { conf: Buffer.from('token: "abcd-efgh"\npin: 42\n').toString('base64') }
    const secrets = secretTexts([{ metadata: { name: 's' }, data }], parse)
    expect(maskSecrets('the abcd-efgh', { secrets })).toBe('the ***')
    // A string value as JSON, so with quotes.
    expect(maskSecrets('"42"', { secrets })).toBe('***')
    expect(maskSecrets('version 1.42', { secrets })).toBe('version 1.42')
  })
})
