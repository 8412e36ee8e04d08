// Bundles with a cache folder: the code must match the present modules.

import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DefaultLogger } from '@temporalio/worker'
import { expect, it } from 'vitest'

import { scratchFolder } from '../../dev/scratch.ts'
import { buildName, buildOf } from '../../../../worker/reconciler/temporal/bundle.ts'

const ROOT = new URL('../../../..', import.meta.url).pathname
const logger = new DefaultLogger('ERROR', () => undefined)

it('a bundle with a cache equals a bundle without a cache, also after a change of an imported module, and contains the failure encryption if payloads are encrypted', async () => {
  const dir = await scratchFolder()
  await mkdir(join(dir, 'node_modules'))
  await symlink(ROOT, join(dir, 'node_modules/pawl'))
  await writeFile(join(dir, 'package.json'), '{"type":"module"}')
  const [file, cache] = [join(dir, 'controllers.ts'), join(dir, 'cache')]
  await writeFile(file, "import { word } from './word.ts'\nexport const controllers = [{ name: 'one', word }]\n")
  const say = async (word: string) => {
    await writeFile(join(dir, 'word.ts'), `export const word = '${word}'\n`)
  }
  // A build takes two seconds of CPU time.
  const build = async (bundleCacheDir?: string, payloadKeyPath?: string) => {
    const source = { workflowBundle: undefined, controllerFiles: [file], payloadKeyPath, bundleCacheDir }
    return await buildOf(source, ['one'], logger)
  }
  await say('before')
  const first = await build(cache)
  expect(await readdir(cache)).not.toEqual([])
  expect((await build(cache)).name).toBe(first.name)
  // Same length, soon after.
  await say('after!')
  const changed = await build(cache)
  expect(changed.code).toContain("word = 'after!'")
  expect(changed.name).toBe((await build()).name)
  const sealed = await build(cache, 'payload.key')
  expect(new Set([first.name, changed.name, sealed.name]).size).toBe(3)
}, 240_000)

it('the name of a build is equal for equal code in any folder, and differs for different code', () => {
  const code = (folder: string, map: string, action = '1') =>
    `"../../tmp/${folder}/workflows.js": () => { ${action} }\n//# sourceMappingURL=data:application/json;base64,${map}`
  const name = buildName(code('pawl-bundle-Ab12cd', 'eA=='))
  expect(buildName(code('pawl-bundle-Ef34gh', 'eQ=='))).toBe(name)
  expect(buildName(code('pawl-bundle-Ab12cd', 'eA==', '2'))).not.toBe(name)
})
