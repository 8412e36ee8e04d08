// Checks a built site: each link leads to a page and an anchor of the site, and no page loads anything from another
// host.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Elements and attributes whose address a browser loads by itself. Links that a user clicks may lead elsewhere. */
const LOADED = /<(?:script|img|source|iframe|video|audio|embed)\b[^>]*?\s(?:src|srcset|poster)="([^"]*)"/g
const LINKED =
  /<link\b(?=[^>]*?\srel="(?:stylesheet|preload|modulepreload|icon|prefetch|preconnect|dns-prefetch|manifest)")[^>]*?\shref="([^"]*)"/g
const STYLED = /(?:url\(\s*["']?|@import\s+["'])([^"')]+)/g
const CLICKED = /<a\b[^>]*?\shref="([^"]*)"/g

/** The policy that makes browsers refuse assets of other hosts, also those that a script requests. */
export const POLICY =
  "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"

interface Site {
  readonly folder: string
  /** The path of the site on its host, with a slash at both ends. */
  readonly base: string
  /** The HTML of the pages by their paths. */
  readonly pages: ReadonlyMap<string, string>
}

/** @returns one line for each problem. */
export function checkSite(folder: string, base: string): readonly string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const read = (path: string) => readFileSync(join(folder, path), 'utf8')
  const pages = new Map(files.filter((path) => path.endsWith('.html')).map((path) => [path, read(path)]))
  if (pages.size === 0) return [`"${folder}": no page; build the site first`]
  const styles = files.filter((path) => path.endsWith('.css') || path.endsWith('.svg'))
  return [
    ...[...pages.keys()].flatMap((path) => checkPage({ folder, base, pages }, path)),
    ...styles.flatMap((path) => foreignAssets(path, read(path), [STYLED])),
  ]
}

function checkPage(site: Site, path: string): readonly string[] {
  const html = site.pages.get(path) ?? ''
  // Scripts contain the search index and the pages' code, where addresses are text.
  const text = html.replaceAll(/(<script\b[^>]*>)[\s\S]*?<\/script>/g, '$1')
  const links = new Set([...text.matchAll(CLICKED)].map(([, href = '']) => href).filter(isOwn))
  return [
    ...(html.includes(`content="${POLICY}"`) ? [] : [`page "${path}": the content security policy is missing`]),
    ...foreignAssets(path, text, [LOADED, LINKED, STYLED]),
    ...[...links].flatMap((href) => checkLink(site, path, href)),
  ]
}

function checkLink(site: Site, path: string, href: string): readonly string[] {
  const [address = '', anchor = ''] = decodeURIComponent(href).split('#')
  const target = address === '' ? path : fileOf(site, path, address)
  if (target === undefined) return [`page "${path}": link "${href}" leads to no page`]
  const isFound = anchor === '' || (site.pages.get(target) ?? '').includes(`id="${anchor}"`)
  return isFound ? [] : [`page "${path}": link "${href}": page "${target}" has no such anchor`]
}

function fileOf({ folder, base }: Site, page: string, address: string): string | undefined {
  const path = address.startsWith(base) ? address.slice(base.length) : join(dirname(page), address)
  const file = path === '' || path.endsWith('/') ? `${path}index.html` : path
  return existsSync(join(folder, file)) && statSync(join(folder, file)).isFile() ? file : undefined
}

/** Whether the address is on the host of the site. */
function isOwn(address: string): boolean {
  return !/^(?:[a-z]+:|\/\/)/.test(address)
}

function foreignAssets(path: string, text: string, patterns: readonly RegExp[]): readonly string[] {
  return patterns
    .flatMap((pattern) => [...text.matchAll(pattern)].map(([, address = '']) => address))
    .filter((address) => !isOwn(address) && !address.startsWith('data:'))
    .map((address) => `page "${path}": loads "${address}" from another host; copy the file into docs/`)
}
