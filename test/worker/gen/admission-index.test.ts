import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { admissionIndex, readAdmissions } from '../../../worker/gen/admission-index.ts'
import { readWings } from '../../../worker/gen/wing-index.ts'

const RULES = "export const kiteAdmission = { kind: {}, operations: ['CREATE'], validate: () => [] }\n"
const NAMES = "{ configuration: 'kites', domain: 'kites.example.org', skipLabel: 'kites.example.org/skip' }"

let root: string

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'pawl-admission-'))
  await mkdir(join(root, 'workflows/toy-shop/kite'), { recursive: true })
})
afterEach(() => rm(root, { recursive: true }))

async function found(wing: string, admission: string) {
  await writeFile(join(root, 'workflows/toy-shop/wing.ts'), wing)
  await writeFile(join(root, 'workflows/toy-shop/kite/admission.ts'), admission)
  return await readAdmissions(root, await readWings(root))
}

describe('admission rules', () => {
  it('are listed under the folder of their wing', async () => {
    const listed = await found(`export const toys = { flags: {}, workerRules: [], admission: ${NAMES} }\n`, RULES)
    const text = admissionIndex(listed)
    expect(text).toContain("import { kiteAdmission } from './toy-shop/kite/admission.ts'\n")
    expect(text).toContain("  'toy-shop': [kiteAdmission],\n")
  })

  it('require the field `admission` in the wing.ts of their wing', async () => {
    await expect(found('export const toys = { flags: {}, workerRules: [] }\n', RULES)).rejects.toThrow(
      'workflows/toy-shop/wing.ts: `admission` is missing, and workflows/toy-shop/kite/admission.ts has rules',
    )
  })

  it('must be one exported value of their file', async () => {
    const wing = `export const toys = { flags: {}, workerRules: [], admission: ${NAMES} }\n`
    await expect(found(wing, 'export const kite = 1\n')).rejects.toThrow(
      'found 0 exported values with rules; expected exactly one',
    )
  })

  it('are an empty map if no wing has rules', () => {
    expect(admissionIndex([])).toContain('readonly Admission[]>> = {}\n')
  })
})
