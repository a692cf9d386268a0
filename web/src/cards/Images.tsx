export function Images({ urls }: { urls: string[] }) {
  return urls.map((url, index) => <img key={index} className="attached" src={url} alt={`Picture ${index + 1}`} />);
}
