// Settings of the generator. `npm run docs` writes dist/site.json before it starts the generator.

import { readFileSync } from 'node:fs'

const SITE = new URL('../dist/site.json', import.meta.url)
const { base, html, map, titles, indexes, version, versions, policy } = JSON.parse(readFileSync(SITE, 'utf8'))

const link = (page) => `/${page.replace(/(README)?\.md$/, '')}`
const items = (pages) =>
  pages.map((page) => {
    const below = indexes[page] ?? []
    return { text: titles[page], link: link(page), ...(below.length > 0 && { collapsed: true, items: items(below) }) }
  })
const folderOf = ({ groups }) => groups[0].pages[0].split('/')[0]

/** The pages of one section: groups of pages, or the pages themselves if the section has no groups. */
const groupsOf = ({ groups }) =>
  groups.flatMap(({ title, pages }) => (title === undefined ? items(pages) : [{ text: title, items: items(pages) }]))

/** A link from this version to another one. The generator puts the base of this version before it. */
const versionLink = ({ version: other }) => ({
  text: other,
  link: `${version === 'next' ? '/' : '/../'}${other === 'next' ? '' : `${other}/`}`,
  target: '_self',
})

/** Anchors as on code hosts, because links in docs/ use these. */
const slugify = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/** A tooth of a ratchet, which a pawl keeps from turning back. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#0969da" d="M2 14V9l5-7v7l7-5v10z"/></svg>'

/** Changes the HTML that the generator makes of text and of code in text. */
function adaptRenderer({ renderer: { rules } }) {
  const { text, code_inline: code } = rules
  // Escaped braces keep the generator from evaluating Go templates in pages as its own templates.
  const escapeBraces = (html) => html.replaceAll('{{', '&#123;&#123;')
  // Paths of fields and files may wrap after each part, so that tables stay narrow.
  const allowWraps = (html) => html.replaceAll(/(\.|(?<!<)\/)(?=\w)/g, '$1<wbr>')
  rules.text = (...args) => escapeBraces(text(...args))
  rules.code_inline = (...args) => allowWraps(escapeBraces(code(...args)))
}

export default {
  base,
  title: 'Pawl',
  description: 'A durable reconcile engine for Kubernetes',
  lang: 'en',
  srcDir: 'dist/pages',
  outDir: html,
  cacheDir: 'dist/cache',
  head: [
    ['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }],
    ['meta', { 'http-equiv': 'Content-Security-Policy', content: policy }],
  ],
  markdown: { html: false, linkify: false, anchor: { slugify }, languageAlias: { cm: 'yaml' }, config: adaptRenderer },
  // The search index is one large chunk, which pages load only for a search.
  vite: { build: { chunkSizeWarningLimit: 5000 } },
  themeConfig: {
    nav: [
      ...map.map((section) => ({
        text: section.title,
        link: `/map#${slugify(section.title)}`,
        activeMatch: `^/${folderOf(section)}/`,
      })),
      { text: version, items: versions.map(versionLink) },
    ],
    sidebar: {
      ...Object.fromEntries(
        map.map((section) => [`/${folderOf(section)}/`, [{ text: section.title, items: groupsOf(section) }]]),
      ),
      '/': [
        { text: 'Map of all pages', link: '/map' },
        ...map.map((section) => ({
          text: section.title,
          collapsed: section.groups.length > 1,
          items: groupsOf(section),
        })),
      ],
    },
    outline: { level: [2, 3] },
    notFound: {
      quote: 'Search for the page, or find it on the map of all pages.',
      link: '/map',
      linkText: 'Open the map',
    },
    search: {
      provider: 'local',
      options: { _render: (text, env, md) => (env.relativePath.startsWith('source/') ? '' : md.render(text, env)) },
    },
  },
}
