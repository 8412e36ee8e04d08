// The images that pods of the chart run, unpacked in folders; test/support/image/image-pods.js reads the list.

import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'

import { ARCHITECTURE, type ImageConfig, Images } from '../image/images.ts'

const ROOT = new URL('../../../', import.meta.url).pathname
/** The folder of controllers in the image of a user. */
const CONTROLLERS = '/opt/controllers'

interface PulledImage {
  /** The folder in which it is unpacked. */
  readonly root: string
  readonly config: ImageConfig['config']
}

export class PulledImages {
  /** The file with the images by their names. */
  readonly path: string
  readonly #images = new Map<string, PulledImage>()

  constructor(path: string) {
    this.path = path
  }

  /**
   * Pulls an image as a container runtime does.
   *
   * @param name `127.0.0.1:5000/team/pawl:0.1.0`. @param registry its URL.
   */
  async pull(name: string, registry: string): Promise<void> {
    const [, repository = '', tag = ''] = /^[^/]+\/(.+):([^:]+)$/.exec(name) ?? []
    const images = Images.inRegistry(`${registry}/${repository}`, {})
    const { manifest, config } = await images.image(tag, ARCHITECTURE)
    await this.#add(name, { root: await images.unpack(manifest), config: config.config })
  }

  /**
   * Adds an image that a user makes from another one, as docs/guides/own-image.md describes: with controllers of this
   * checkout and the packages that they import.
   *
   * @param folder in the checkout. @param packages in its node_modules. @returns the path of the controllers in the image.
   */
  async addControllers(name: string, from: string, folder: string, packages: readonly string[]): Promise<string> {
    const base = this.#images.get(from)
    if (base === undefined) throw new Error(`image ${from} is not pulled`)
    const root = join(await mkdtemp(join(tmpdir(), 'pawl-root-')), 'root')
    await promisify(execFile)('cp', ['--archive', '--link', base.root, root])
    const place = join(root, CONTROLLERS)
    await cp(join(ROOT, folder), join(place, basename(folder)), { recursive: true })
    for (const one of packages)
      await cp(join(ROOT, 'node_modules', one), join(place, 'node_modules', one), { recursive: true })
    await writeFile(join(place, 'package.json'), '{"type":"module"}')
    await this.#add(name, { root, config: { ...base.config, WorkingDir: CONTROLLERS } })
    return join(CONTROLLERS, basename(folder), 'controllers.ts')
  }

  /** Deletes the folders. */
  async remove(): Promise<void> {
    for (const { root } of this.#images.values()) await rm(dirname(root), { recursive: true })
  }

  async #add(name: string, image: PulledImage): Promise<void> {
    this.#images.set(name, image)
    await writeFile(this.path, JSON.stringify(Object.fromEntries(this.#images)))
  }
}
