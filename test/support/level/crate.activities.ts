// The activity of crates: a request to a program of the test.

export async function call({ url }: { readonly url: string }): Promise<string> {
  const answer = await fetch(url)
  return await answer.text()
}
