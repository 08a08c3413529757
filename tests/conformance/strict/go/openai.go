package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/azure"
	"github.com/openai/openai-go/v3/conversations"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/pagination"
	"github.com/openai/openai-go/v3/responses"
)

func connectOpenAI(one target) caller {
	options := []option.RequestOption{option.WithMaxRetries(0)}
	if one.Client == "azure" {
		options = append(options, azure.WithEndpoint(one.URL, one.APIVersion), azure.WithUnsafeAllowHTTP())
		options = append(options, azure.WithAPIKey(one.Key))
	} else {
		options = append(options, option.WithBaseURL(one.URL), option.WithAPIKey(one.Key))
	}
	for name, value := range one.Headers {
		options = append(options, option.WithHeader(name, value))
	}
	client := openai.NewClient(options...)
	return func(ctx context.Context, asked request) ([]any, error) {
		answers, err := callOpenAI(ctx, &client, asked)
		var refused *openai.Error
		if errors.As(err, &refused) {
			return []any{*refused}, err
		}
		return answers, err
	}
}

func statusOf(err error) (int, string) {
	var refused *openai.Error
	if errors.As(err, &refused) {
		return refused.StatusCode, fmt.Sprintf("%d %s", refused.StatusCode, refused.RawJSON())
	}
	return statusOfAnthropic(err)
}

func callOpenAI(ctx context.Context, c *openai.Client, asked request) ([]any, error) {
	body := option.WithRequestBody(encode(asked))
	id := append(asked.Args, "", "", "")
	switch asked.Call {
	case "chat.completions.create":
		return one(c.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{}, body))
	case "chat.completions.create*":
		return drain(c.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{}, body))
	case "chat.completions.retrieve":
		return one(c.Chat.Completions.Get(ctx, id[0]))
	case "chat.completions.update":
		return one(c.Chat.Completions.Update(ctx, id[0], openai.ChatCompletionUpdateParams{}, body))
	case "chat.completions.list":
		return page(c.Chat.Completions.List(ctx, openai.ChatCompletionListParams{}))
	case "chat.completions.messages.list":
		return page(c.Chat.Completions.Messages.List(ctx, id[0], openai.ChatCompletionMessageListParams{}))
	case "chat.completions.delete":
		return one(c.Chat.Completions.Delete(ctx, id[0]))
	case "completions.create":
		return one(c.Completions.New(ctx, openai.CompletionNewParams{}, body))
	case "completions.create*":
		return drain(c.Completions.NewStreaming(ctx, openai.CompletionNewParams{}, body))
	case "embeddings.create":
		return one(c.Embeddings.New(ctx, openai.EmbeddingNewParams{}, body))
	case "models.list":
		return whole(c.Models.List(ctx))
	case "models.retrieve":
		return one(c.Models.Get(ctx, id[0]))
	case "images.generate":
		return one(c.Images.Generate(ctx, openai.ImageGenerateParams{}, body))
	case "images.generate*":
		return drain(c.Images.GenerateStreaming(ctx, openai.ImageGenerateParams{}, body))
	case "images.edit":
		return one(c.Images.Edit(ctx, openai.ImageEditParams{}, body))
	case "images.edit*":
		return drain(c.Images.EditStreaming(ctx, openai.ImageEditParams{}, body))
	case "audio.transcriptions.create":
		return one(c.Audio.Transcriptions.New(ctx, openai.AudioTranscriptionNewParams{}, body))
	case "audio.transcriptions.create*":
		return drain(c.Audio.Transcriptions.NewStreaming(ctx, openai.AudioTranscriptionNewParams{}, body))
	case "audio.translations.create":
		return one(c.Audio.Translations.New(ctx, openai.AudioTranslationNewParams{}, body))
	case "audio.speech.create":
		return content(c.Audio.Speech.New(ctx, openai.AudioSpeechNewParams{}, body))
	case "files.create":
		return one(c.Files.New(ctx, openai.FileNewParams{}, body))
	case "files.retrieve":
		return one(c.Files.Get(ctx, id[0]))
	case "files.list":
		return page(c.Files.List(ctx, openai.FileListParams{}))
	case "files.content":
		return content(c.Files.Content(ctx, id[0]))
	case "files.delete":
		return one(c.Files.Delete(ctx, id[0]))
	case "batches.create":
		return one(c.Batches.New(ctx, openai.BatchNewParams{}, body))
	case "batches.retrieve":
		return one(c.Batches.Get(ctx, id[0]))
	case "batches.list":
		return page(c.Batches.List(ctx, openai.BatchListParams{}))
	case "batches.cancel":
		return one(c.Batches.Cancel(ctx, id[0]))
	}
	return callState(ctx, c, asked, body, id)
}

// callState makes the calls of responses, conversations and vector stores.
func callState(
	ctx context.Context, c *openai.Client, asked request, body option.RequestOption, id []string,
) ([]any, error) {
	stores := &c.VectorStores
	switch asked.Call {
	case "responses.create":
		return one(c.Responses.New(ctx, responses.ResponseNewParams{}, body))
	case "responses.create*":
		return drain(c.Responses.NewStreaming(ctx, responses.ResponseNewParams{}, body))
	case "responses.retrieve":
		return one(c.Responses.Get(ctx, id[0], responses.ResponseGetParams{}))
	case "responses.retrieve*":
		return drain(c.Responses.GetStreaming(ctx, id[0], responses.ResponseGetParams{}))
	case "responses.cancel":
		return one(c.Responses.Cancel(ctx, id[0]))
	case "responses.compact":
		return one(c.Responses.Compact(ctx, responses.ResponseCompactParams{}, body))
	case "responses.delete":
		return []any{nil}, c.Responses.Delete(ctx, id[0])
	case "responses.input_items.list":
		return page(c.Responses.InputItems.List(ctx, id[0], responses.InputItemListParams{}))
	case "responses.input_tokens.count":
		return one(c.Responses.InputTokens.Count(ctx, responses.InputTokenCountParams{}, body))
	case "conversations.create":
		return one(c.Conversations.New(ctx, conversations.ConversationNewParams{}, body))
	case "conversations.retrieve":
		return one(c.Conversations.Get(ctx, id[0]))
	case "conversations.update":
		return one(c.Conversations.Update(ctx, id[0], conversations.ConversationUpdateParams{}, body))
	case "conversations.delete":
		return one(c.Conversations.Delete(ctx, id[0]))
	case "conversations.items.create":
		return one(c.Conversations.Items.New(ctx, id[0], conversations.ItemNewParams{}, body))
	case "conversations.items.retrieve":
		return one(c.Conversations.Items.Get(ctx, id[0], id[1], conversations.ItemGetParams{}))
	case "conversations.items.list":
		found, err := c.Conversations.Items.List(ctx, id[0], conversations.ItemListParams{})
		if err != nil {
			return nil, err
		}
		return list(found.Data, err)
	case "conversations.items.delete":
		return one(c.Conversations.Items.Delete(ctx, id[0], id[1]))
	case "vector_stores.create":
		return one(stores.New(ctx, openai.VectorStoreNewParams{}, body))
	case "vector_stores.retrieve":
		return one(stores.Get(ctx, id[0]))
	case "vector_stores.update":
		return one(stores.Update(ctx, id[0], openai.VectorStoreUpdateParams{}, body))
	case "vector_stores.list":
		return page(stores.List(ctx, openai.VectorStoreListParams{}))
	case "vector_stores.delete":
		return one(stores.Delete(ctx, id[0]))
	case "vector_stores.search":
		return whole(stores.Search(ctx, id[0], openai.VectorStoreSearchParams{}, body))
	case "vector_stores.files.create":
		return one(stores.Files.New(ctx, id[0], openai.VectorStoreFileNewParams{}, body))
	case "vector_stores.files.retrieve":
		return one(stores.Files.Get(ctx, id[0], id[1]))
	case "vector_stores.files.update":
		return one(stores.Files.Update(ctx, id[0], id[1], openai.VectorStoreFileUpdateParams{}, body))
	case "vector_stores.files.list":
		return page(stores.Files.List(ctx, id[0], openai.VectorStoreFileListParams{}))
	case "vector_stores.files.content":
		return whole(stores.Files.Content(ctx, id[0], id[1]))
	case "vector_stores.files.delete":
		return one(stores.Files.Delete(ctx, id[0], id[1]))
	case "vector_stores.file_batches.create":
		return one(stores.FileBatches.New(ctx, id[0], openai.VectorStoreFileBatchNewParams{}, body))
	case "vector_stores.file_batches.retrieve":
		return one(stores.FileBatches.Get(ctx, id[0], id[1]))
	case "vector_stores.file_batches.cancel":
		return one(stores.FileBatches.Cancel(ctx, id[0], id[1]))
	case "vector_stores.file_batches.list_files":
		return page(stores.FileBatches.ListFiles(ctx, id[0], id[1], openai.VectorStoreFileBatchListFilesParams{}))
	}
	return nil, fmt.Errorf("no call %q", asked.Call)
}

func page[T any](found *pagination.CursorPage[T], err error) ([]any, error) {
	if err != nil {
		return nil, err
	}
	return list(found.Data, err)
}

func whole[T any](found *pagination.Page[T], err error) ([]any, error) {
	if err != nil {
		return nil, err
	}
	return list(found.Data, err)
}

func content(answer *http.Response, err error) ([]any, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	read, err := io.ReadAll(answer.Body)
	if len(read) == 0 && err == nil {
		err = errors.New("no content")
	}
	return []any{nil}, err
}
