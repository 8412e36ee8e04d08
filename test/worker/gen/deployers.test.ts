import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { deployerLists } from '../../../worker/gen/deployers.ts'

let root: string

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'pawl-deployers-'))
})

afterEach(() => rm(root, { recursive: true }))

describe('the deployers of wings', () => {
  it('are generated from their folders: lists of values for activities, and of type names for workflows', async () => {
    await deployer('garden', 'pot', "{ type: 'garden/pot', name: 'pot', pace: 'long' }")
    await deployer('garden', 'green-house', "{ type: 'garden/house', name: 'green-house', pace: 'quick' }")
    await deployer('kitchen', 'pan', `{ type: "it's", name: 'pan', pace: 'long' }`)
    await write('activities/garden/deploy/run/deployer.ts', 'export class DeployError extends Error {}\n')
    const { files, complaints } = await lists()
    expect(complaints).toEqual([])
    expect([...files.keys()]).toEqual([
      'activities/garden/deploy/deployers.gen.ts',
      'workflows/garden/deploy-item/deployers.gen.ts',
      'activities/kitchen/deploy/deployers.gen.ts',
      'workflows/kitchen/deploy-item/deployers.gen.ts',
    ])
    expect(linesOf(files.get('activities/garden/deploy/deployers.gen.ts'))).toEqual([
      "import { deployer as greenHouseDeployer } from './green-house/deployer.ts'",
      "import { deployer as potDeployer } from './pot/deployer.ts'",
      'export const deployers = [',
      '  greenHouseDeployer,',
      '  potDeployer,',
      ']',
    ])
    expect(linesOf(files.get('workflows/garden/deploy-item/deployers.gen.ts'))).toEqual([
      'export const BUILT_IN_TYPES: ReadonlySet<string> = new Set([',
      "  'garden/house',",
      "  'garden/pot',",
      '])',
      'export const QUICK_TYPES: ReadonlySet<string> = new Set([',
      "  'garden/house',",
      '])',
    ])
    const kitchen = linesOf(files.get('workflows/kitchen/deploy-item/deployers.gen.ts'))
    expect(kitchen).toContain("  'it\\'s',")
    expect(kitchen.at(-1)).toBe('export const QUICK_TYPES: ReadonlySet<string> = new Set()')
  })

  it('have no generated files if no wing has deployers', async () => {
    await write('activities/garden/pots.ts', '')
    expect(await lists()).toEqual({ files: new Map(), complaints: [] })
  })

  it.each([
    [
      'no type',
      "{ name: 'pot', pace: 'long' }",
      'type is missing; set the spec.type of the items that the deployer serves',
    ],
    [
      'another name',
      "{ type: 'a', name: 'pan', pace: 'long' }",
      'name: found pan; expected pot, the name of the folder',
    ],
    ['no pace', "{ type: 'a', name: 'pot' }", 'pace: found undefined; expected one of quick, long'],
  ])('are rejected with %s', async (_, value, complaint) => {
    await deployer('garden', 'pot', value)
    expect((await lists()).complaints).toEqual([`activities/garden/deploy/pot/deployer.ts: ${complaint}`])
  })

  it('are rejected under another export name, and with the type of another deployer', async () => {
    await deployer('garden', 'pot', "{ type: 'a', name: 'pot', pace: 'long' }", 'potDeployer')
    await deployer('garden', 'tub', "{ type: 'a', name: 'tub', pace: 'long' }")
    await deployer('garden', 'urn', "{ type: 'a', name: 'urn', pace: 'long' }")
    expect((await lists()).complaints).toEqual([
      'activities/garden/deploy/pot/deployer.ts: found the exported deployer potDeployer; rename the export to deployer',
      'activities/garden/deploy/urn/deployer.ts: type: found a, the type of deployer tub; choose another type',
    ])
  })
})

async function lists() {
  const complaints: string[] = []
  const files = await deployerLists(root, (line) => complaints.push(line))
  return { files: files ?? new Map<string, string>(), complaints }
}

const linesOf = (text = '') => text.split('\n').filter((line) => line !== '' && !line.startsWith('/'))

async function deployer(wing: string, folder: string, value: string, name = 'deployer'): Promise<void> {
  await write(`activities/${wing}/deploy/${folder}/deployer.ts`, `export const ${name} = ${value}\n`)
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(join(root, path, '..'), { recursive: true })
  await writeFile(join(root, path), text)
}
