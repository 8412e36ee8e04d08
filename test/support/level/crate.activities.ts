// What crates ask of the world: a program of the test, which answers when it likes.

export async function call({ url }: { readonly url: string }): Promise<string> {
  const answer = await fetch(url)
  return await answer.text()
}
