// Bundles with a cache folder: the code must match the present modules.

import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DefaultLogger } from '@temporalio/worker'
import { describe, expect, it } from 'vitest'

import { scratchFolder } from '../../dev/scratch.ts'
import { buildName, buildOf } from '../../../../worker/reconciler/temporal/bundle.ts'

const ROOT = new URL('../../../..', import.meta.url).pathname
const logger = new DefaultLogger('ERROR', () => undefined)

async function project() {
  const dir = await scratchFolder()
  await mkdir(join(dir, 'node_modules'))
  await symlink(ROOT, join(dir, 'node_modules/pawl'))
  await writeFile(join(dir, 'package.json'), '{"type":"module"}')
  const file = join(dir, 'controllers.ts')
  const say = async (word: string) => {
    await writeFile(join(dir, 'word.ts'), `export const word = '${word}'\n`)
  }
  await writeFile(file, "import { word } from './word.ts'\nexport const controllers = [{ name: 'one', word }]\n")
  const cache = join(dir, 'cache')
  const build = async (bundleCacheDir?: string, payloadKeyPath?: string) => {
    const source = { workflowBundle: undefined, controllerFiles: [file], payloadKeyPath, bundleCacheDir }
    return await buildOf(source, ['one'], logger)
  }
  return { say, cache, build }
}

describe('a bundle with a cache', { timeout: 60_000 }, () => {
  it('equals a bundle without a cache, also after a change of an imported module', async () => {
    const { say, cache, build } = await project()
    await say('before')
    const fresh = await build()
    const builds = [await build(cache), await build(cache)]
    expect(await readdir(cache)).not.toEqual([])
    expect(builds.map(({ name }) => name)).toEqual([fresh.name, fresh.name])
    // Same length, soon after.
    await say('after!')
    const changed = await build(cache)
    expect(changed.code).toContain("word = 'after!'")
    expect(changed.name).toBe((await build()).name)
    expect(changed.name).not.toBe(fresh.name)
  })

  it('contains the failure encryption if payloads are encrypted', async () => {
    const { say, cache, build } = await project()
    await say('one')
    const open = await build(cache)
    const sealed = await build(cache, 'payload.key')
    expect(sealed.name).toBe((await build(undefined, 'payload.key')).name)
    expect(sealed.name).not.toBe(open.name)
  })
})

const code = (folder: string, map: string, action = '1') =>
  `"../../tmp/${folder}/workflows.js": () => { ${action} }\n//# sourceMappingURL=data:application/json;base64,${map}`

describe('the name of a build', () => {
  it('is equal for equal code, in any folder', () => {
    expect(buildName(code('pawl-bundle-Ab12cd', 'eA=='))).toBe(buildName(code('pawl-bundle-Ef34gh', 'eQ==')))
  })

  it('differs for different code', () => {
    expect(buildName(code('pawl-bundle-Ab12cd', 'eA=='))).not.toBe(buildName(code('pawl-bundle-Ab12cd', 'eA==', '2')))
  })
})
